//! A budget, and the error of one that is used up. `budget_checks` enforces budgets.

use std::{fmt, time::Duration};

use chrono::{DateTime, Utc};
use tallybook_accounts::{GroupId, UserId};
use tallybook_database::now;
use tallybook_protocol::BudgetPeriod;

/// Longest month.
const MONTH: Duration = Duration::from_hours(31 * 24);

/// Longest day in UTC.
const DAY: Duration = Duration::from_hours(24);

/// The users whose usage counts toward a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetOwner {
    /// All users together.
    All,
    /// The members of a group together.
    Group(GroupId),
    /// One user.
    User(UserId),
}

impl BudgetOwner {
    /// Reads the principal of a budget, as [`fmt::Display`] writes it: `all`, `group:ID` or `user:ID`.
    pub fn parse(principal: &str) -> Option<Self> {
        if principal == "all" {
            return Some(Self::All);
        }
        let (kind, text) = principal.split_once(':')?;
        // Each user and group has only one name here.
        let id: i64 = text.parse().ok().filter(|id: &i64| *id > 0 && id.to_string() == text)?;
        match kind {
            "group" => Some(Self::Group(GroupId(id))),
            "user" => Some(Self::User(UserId(id))),
            _ => None,
        }
    }
}

impl fmt::Display for BudgetOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Group(GroupId(id)) => write!(f, "group:{id}"),
            Self::User(UserId(id)) => write!(f, "user:{id}"),
        }
    }
}

/// A budget.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Budget {
    /// The users whose usage counts.
    pub owner: BudgetOwner,
    /// The period after which the budget starts again.
    pub period: BudgetPeriod,
    /// Tokens that models may read and write.
    pub tokens: Option<i64>,
    /// Money that models may cost, in billionths of the currency of the prices.
    pub cost_nanos: Option<i64>,
    /// Share above which users are warned, from 0 to 1.
    pub warn_at: f64,
}

/// A budget that is used up, or whose remaining amount is reserved. The message is shown to the user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetUsedUp {
    /// The users whose usage counts.
    pub owner: BudgetOwner,
    /// The period.
    pub period: BudgetPeriod,
    /// `true` if money is limited, in billionths of the currency of the prices; otherwise tokens are.
    pub is_cost: bool,
    /// The amount that is used.
    pub used: i64,
    /// The limit.
    pub limit: i64,
    /// Time at which the budget starts again.
    pub resets_at: DateTime<Utc>,
    /// `true` if the rest is only reserved for answers that are being written.
    pub is_reserved: bool,
}

impl BudgetUsedUp {
    /// Returns the number of seconds until the budget starts again.
    pub(crate) fn reset_secs(&self) -> u64 {
        u64::try_from((self.resets_at - now()).num_seconds()).unwrap_or(0).max(1)
    }
}

impl fmt::Display for BudgetUsedUp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = match self.owner {
            BudgetOwner::All => "The server's",
            BudgetOwner::Group(_) => "Your group's",
            BudgetOwner::User(_) => "Your",
        };
        let what = if self.is_cost { "money" } else { "tokens" };
        let period = match self.period {
            BudgetPeriod::Day => "today",
            BudgetPeriod::Month => "this month",
        };
        if self.is_reserved {
            return write!(
                f,
                "{whose} remaining budget of {what} for {period} is reserved for answers that are being written. Wait for \
                 one of them to end, then try again."
            );
        }
        let resets_at = self.resets_at.format("%Y-%m-%d %H:%M UTC");
        write!(
            f,
            "{whose} budget of {what} for {period} is used up. It starts again at {resets_at}; an admin can raise it."
        )
    }
}

impl std::error::Error for BudgetUsedUp {}

impl Budget {
    /// Returns `true` if the budget applies to a user in these groups.
    pub(crate) fn applies_to(&self, user: UserId, groups: &[GroupId]) -> bool {
        match self.owner {
            BudgetOwner::All => true,
            BudgetOwner::Group(group) => groups.contains(&group),
            BudgetOwner::User(owner) => owner == user,
        }
    }

    /// Returns the time for which usage has to be kept, so that it counts until the period ends.
    pub fn window(&self) -> Duration {
        match self.period {
            BudgetPeriod::Day => DAY,
            BudgetPeriod::Month => MONTH,
        }
    }
}
