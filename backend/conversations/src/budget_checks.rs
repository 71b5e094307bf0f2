//! Enforces budgets: tokens or money that models may use for a user, a group or all users together, within a day or a
//! month. They are checked when a turn, or another request that calls a model, begins. Like the limits of a user
//! (`admission`), they are checked against rows that exist anyway, so they apply across all replicas, and deleting
//! conversations gives nothing back: deleted data is kept while it counts.

use chrono::{DateTime, Datelike, Days, Months, NaiveTime, Utc};
use tallybook_accounts::{GroupId, UserId};
use tallybook_database::{Transaction, now};
use tallybook_protocol::{BudgetAmount, BudgetPeriod, BudgetStatus, MessageId};

use crate::{
    ChangeableSettings, ServiceError,
    budget::{Budget, BudgetOwner, BudgetUsedUp},
    context::Context,
    service::ConversationService,
    store::{budgets, model_requests},
};

/// Returns the begin and the end of the period that contains `time`.
fn period_of(period: BudgetPeriod, time: DateTime<Utc>) -> (DateTime<Utc>, DateTime<Utc>) {
    let today = time.date_naive();
    let (first, next) = match period {
        BudgetPeriod::Day => (today, today.checked_add_days(Days::new(1))),
        BudgetPeriod::Month => {
            let first = today.with_day(1).unwrap_or(today);
            (first, first.checked_add_months(Months::new(1)))
        }
    };
    let midnight = |day: chrono::NaiveDate| day.and_time(NaiveTime::MIN).and_utc();
    (midnight(first), midnight(next.unwrap_or(first)))
}

/// Returns `true` if a budget may apply to this user. A budget of a group always may, because its members are not known
/// here.
pub(crate) fn may_have_any(settings: &ChangeableSettings, user: UserId) -> bool {
    let may_apply = |owner| !matches!(owner, BudgetOwner::User(other) if other != user);
    settings.budgets.iter().any(|budget| may_apply(budget.owner))
}

/// Returns `true` if a group has a budget, so that a user's groups matter.
pub(crate) fn needs_groups(settings: &ChangeableSettings) -> bool {
    settings.budgets.iter().any(|budget| matches!(budget.owner, BudgetOwner::Group(_)))
}

/// Blocks other transactions that check the same budget of several users, until this transaction ends. As for the
/// user's own lock, this must come before the first read.
pub(crate) async fn lock_shared(
    settings: &ChangeableSettings,
    tx: &mut Transaction,
    groups: &[GroupId],
) -> sqlx::Result<()> {
    let is_shared = |owner: &BudgetOwner| match owner {
        BudgetOwner::All => true,
        BudgetOwner::Group(group) => groups.contains(group),
        BudgetOwner::User(_) => false,
    };
    let owners = settings.budgets.iter().map(|budget| budget.owner).filter(is_shared);
    let principals: Vec<String> = owners.map(|owner| owner.to_string()).collect();
    if principals.is_empty() { Ok(()) } else { budgets::lock(tx, &principals).await }
}

/// Lists the budgets of a user that are used up, or whose remaining amount is reserved. `turn` is the turn of the next
/// model call, whose own reservation does not count.
pub(crate) async fn list_used_up(
    context: &Context,
    settings: &ChangeableSettings,
    tx: &mut Transaction,
    (user, groups): (UserId, &[GroupId]),
    turn: Option<MessageId>,
) -> sqlx::Result<Vec<BudgetUsedUp>> {
    let (time, longest_turn, mut found) = (now(), context.agent.limits().turn_time, Vec::new());
    for budget in settings.budgets.iter().filter(|budget| budget.applies_to(user, groups)) {
        let (since, resets_at) = period_of(budget.period, time);
        let spent = budgets::sum_used(tx, budget.owner, since, longest_turn).await?;
        let reserved = model_requests::sum_reserved(tx, budget.owner, turn, time).await?;
        let amounts = [
            (budget.tokens, spent.tokens, reserved.tokens, false),
            (budget.cost_nanos, spent.cost_nanos, reserved.cost_nanos, true),
        ];
        for (limit, spent, reserved, is_cost) in amounts {
            let Some(limit) = limit else { continue };
            if spent.saturating_add(reserved) >= limit {
                let Budget { owner, period, .. } = *budget;
                let is_reserved = spent < limit;
                found.push(BudgetUsedUp { owner, period, is_cost, used: spent, limit, resets_at, is_reserved });
            }
        }
    }
    Ok(found)
}

/// Returns the budget that refuses requests for the longest time: of those that are used up the one that starts again
/// last. A budget that is only reserved is free again sooner.
pub(crate) fn longest(used_up: Vec<BudgetUsedUp>) -> Option<BudgetUsedUp> {
    // Of several with the same time, the first one.
    used_up.into_iter().rev().max_by_key(|budget| (!budget.is_reserved, budget.resets_at))
}

impl ConversationService {
    /// Returns `true` if a budget may apply to a user. A budget of a group always may.
    pub fn may_have_budgets(&self, user: UserId) -> bool {
        may_have_any(&self.context.changeable(), user)
    }

    /// Returns the budgets that apply to a user, and how much of each is used.
    pub async fn find_budgets(&self, user: UserId) -> Result<Vec<BudgetStatus>, ServiceError> {
        let (time, mut found) = (now(), Vec::new());
        let longest_turn = self.context.agent.limits().turn_time;
        let (settings, db) = (self.context.changeable(), &self.context.db);
        let permissions = &self.context.settings.permissions;
        let named = if needs_groups(&settings) { permissions.groups_of(user).await? } else { Vec::new() };
        let groups: Vec<GroupId> = named.iter().map(|(id, _)| *id).collect();
        for budget in settings.budgets.iter().filter(|budget| budget.applies_to(user, &groups)) {
            let (since, resets_at) = period_of(budget.period, time);
            let spent = budgets::read_used(db, budget.owner, since, longest_turn).await?;
            let group = named.iter().find(|(id, _)| budget.owner == BudgetOwner::Group(*id));
            #[expect(clippy::cast_precision_loss, reason = "only amounts beyond 2^53 lose precision")]
            let is_near = |limit: i64, spent: i64| spent as f64 >= limit as f64 * budget.warn_at;
            let amount = |limit: Option<i64>, spent| {
                limit.map(|limit| BudgetAmount { limit, used: spent, is_warning: is_near(limit, spent) })
            };
            found.push(BudgetStatus {
                is_shared: !matches!(budget.owner, BudgetOwner::User(_)),
                group: group.map(|(_, name)| name.clone()),
                period: budget.period,
                tokens: amount(budget.tokens, spent.tokens),
                cost_nanos: amount(budget.cost_nanos, spent.cost_nanos),
                resets_at,
            });
        }
        Ok(found)
    }
}

#[cfg(test)]
mod tests {
    use tallybook_protocol::BudgetPeriod;

    use super::period_of;

    #[test]
    fn a_period_begins_and_ends_at_midnight() {
        for (period, time, begin, end) in [
            (BudgetPeriod::Day, "2026-02-28T23:59:59Z", "2026-02-28T00:00:00Z", "2026-03-01T00:00:00Z"),
            (BudgetPeriod::Month, "2026-01-31T12:00:00Z", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"),
            (BudgetPeriod::Month, "2028-12-01T00:00:00Z", "2028-12-01T00:00:00Z", "2029-01-01T00:00:00Z"),
        ] {
            let [time, begin, end] = [time, begin, end].map(|text| text.parse().unwrap());
            assert_eq!(period_of(period, time), (begin, end));
        }
    }
}
