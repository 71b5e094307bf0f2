//! Budgets: how many tokens, or how much money, models may use for a user or for all users within a day or a month.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// A budget. `GET` and `PUT /api/admin/budgets` have a list of these. At least one of `tokens` and `cost_nanos` is set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// The users whose usage counts: `user:ID`, `group:ID` for the members of a group together, or `all` for the users
    /// of the server together.
    pub principal: String,
    /// The period after which the budget starts again.
    pub period: BudgetPeriod,
    /// Number of tokens that models may read and write.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<i64>,
    /// Money that models may cost, in billionths of the currency of the prices. Models without prices cost nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_nanos: Option<i64>,
    /// Share of the budget at which users are warned, from 0 to 1.
    #[serde(default = "default_warn_at")]
    pub warn_at: f64,
}

fn default_warn_at() -> f64 {
    0.8
}

/// The period of a budget, in UTC.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum BudgetPeriod {
    /// From midnight to midnight.
    Day,
    /// From the first day of a month to its last.
    Month,
}

impl BudgetPeriod {
    /// Returns the name on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Month => "month",
        }
    }
}

/// A budget that applies to a user, and how much of it is used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BudgetStatus {
    /// `true` if the usage of several users counts, and not only the user's own.
    pub is_shared: bool,
    /// Name of the group whose members share the budget; absent if all users do, or none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// The period.
    pub period: BudgetPeriod,
    /// The tokens, if they are limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<BudgetAmount>,
    /// The money in billionths of the currency of the prices, if it is limited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_nanos: Option<BudgetAmount>,
    /// End of the period, when the budget starts again.
    pub resets_at: DateTime<Utc>,
}

/// An amount of a budget, and how much of it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BudgetAmount {
    /// The amount.
    pub limit: i64,
    /// The amount that is used. The answer that reached the limit may have exceeded it.
    pub used: i64,
    /// `true` if at least the budget's `warn_at` of it is used.
    pub is_warning: bool,
}

impl BudgetAmount {
    /// Returns the amount that is left.
    pub fn left(self) -> i64 {
        self.limit.saturating_sub(self.used).max(0)
    }
}
