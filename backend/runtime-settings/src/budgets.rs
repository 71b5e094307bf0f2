//! Lists and replaces the budgets.

use std::collections::HashSet;

use serde_json::json;
use tallybook_accounts::{AuditAction, UserId, note_audit_change};
use tallybook_conversations::BudgetOwner;
use tallybook_database::{Transaction, with_retries};
use tallybook_protocol::Budget;

use crate::{
    budget_store,
    error::{SettingsError, shown},
    group_store,
    problems::BudgetProblem,
    service::RuntimeSettings,
    store,
};

/// Maximum number of budgets.
const MAX_BUDGETS: usize = 1000;

impl RuntimeSettings {
    /// Lists the budgets, and returns their version.
    pub async fn list_budgets(&self) -> Result<(Vec<Budget>, i64), SettingsError> {
        // The version first: if the budgets are replaced in between, a change that is based on these is refused.
        let version = budget_store::version(&self.context.db).await?;
        Ok((budget_store::list(&self.context.db).await?, version))
    }

    /// Replaces all budgets, and returns the new ones with their version. They apply to turns that begin from now on.
    /// If `version` is given and the budgets have another version, nothing is changed.
    pub async fn replace_budgets(
        &self,
        actor: UserId,
        budgets: Vec<Budget>,
        version: Option<i64>,
    ) -> Result<(Vec<Budget>, i64), SettingsError> {
        check(&budgets).map_err(SettingsError::InvalidBudget)?;
        with_retries(|| async {
            let mut tx = self.context.db.begin().await?;
            store::next_version(&mut tx).await?;
            let current = budget_store::version_in(&mut tx).await?;
            if version.is_some_and(|version| version != current) {
                return Err(SettingsError::SettingsChanged);
            }
            let before = budget_store::list_in(&mut tx).await?;
            budget_store::delete_all(&mut tx).await?;
            for budget in &budgets {
                let principal = || budget.principal.clone();
                let problem = match BudgetOwner::parse(&budget.principal) {
                    Some(BudgetOwner::User(user)) if !budget_store::has_user(&mut tx, user).await? => {
                        Some(BudgetProblem::NoUser(principal()))
                    }
                    Some(BudgetOwner::Group(id)) if group_store::find(&mut tx, id).await?.is_none() => {
                        Some(BudgetProblem::NoGroup(principal()))
                    }
                    _ => None,
                };
                if let Some(problem) = problem {
                    return Err(SettingsError::InvalidBudget(problem));
                }
                budget_store::create(&mut tx, budget).await?;
            }
            note_change(&mut tx, actor, &before, &budgets).await?;
            Ok(tx.commit().await?)
        })
        .await?;
        self.refresh().await?;
        self.list_budgets().await
    }
}

/// Records a change of the budgets in the audit log.
pub(crate) async fn note_change(
    tx: &mut Transaction,
    actor: UserId,
    before: &[Budget],
    after: &[Budget],
) -> sqlx::Result<()> {
    let (subject, action) = (summary(after), AuditAction::BudgetsChanged);
    note_audit_change(tx, actor, action, &subject, Some(&json!(before)), Some(&json!(after))).await
}

/// Checks everything that does not need the database.
fn check(budgets: &[Budget]) -> Result<(), BudgetProblem> {
    if budgets.len() > MAX_BUDGETS {
        return Err(BudgetProblem::TooMany(MAX_BUDGETS));
    }
    let mut seen = HashSet::new();
    for budget in budgets {
        let Budget { principal, period, tokens, cost_nanos, warn_at } = budget;
        if BudgetOwner::parse(principal).is_none() {
            return Err(BudgetProblem::Principal(shown(principal).to_owned()));
        }
        if !seen.insert((principal, period.as_str())) {
            return Err(BudgetProblem::Twice(principal.clone(), *period));
        }
        if tokens.is_none() && cost_nanos.is_none() {
            return Err(BudgetProblem::Empty(principal.clone()));
        }
        if tokens.iter().chain(cost_nanos).any(|limit| *limit < 1) {
            return Err(BudgetProblem::BelowOne(principal.clone()));
        }
        if !(0.0..=1.0).contains(warn_at) {
            return Err(BudgetProblem::WarnAt);
        }
    }
    Ok(())
}

/// Describes the budgets for the audit log, which shortens the text.
fn summary(budgets: &[Budget]) -> String {
    let all = budgets.iter().map(describe).collect::<Vec<_>>().join("; ");
    if all.is_empty() { "none".to_owned() } else { all }
}

/// Describes a budget in a few words.
fn describe(budget: &Budget) -> String {
    let Budget { principal, period, tokens, cost_nanos, .. } = budget;
    let amount = |unit: &str, amount: Option<i64>| amount.map(|amount| format!(" {amount} {unit}")).unwrap_or_default();
    format!("{principal} {}:{}{}", period.as_str(), amount("tokens", *tokens), amount("nanos", *cost_nanos))
}
