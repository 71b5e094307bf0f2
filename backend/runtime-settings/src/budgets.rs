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
                let missing = match BudgetOwner::parse(&budget.principal) {
                    Some(BudgetOwner::User(user)) if !budget_store::has_user(&mut tx, user).await? => "user",
                    Some(BudgetOwner::Group(id)) if group_store::find(&mut tx, id).await?.is_none() => "group",
                    _ => "",
                };
                if !missing.is_empty() {
                    let problem = format!("There is no {missing} with the ID in {}.", budget.principal);
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

/// Checks everything that does not need the database. The error is a sentence.
fn check(budgets: &[Budget]) -> Result<(), String> {
    if budgets.len() > MAX_BUDGETS {
        return Err(format!("There can be at most {MAX_BUDGETS} budgets."));
    }
    let mut seen = HashSet::new();
    for budget in budgets {
        let Budget { principal, period, tokens, cost_nanos, warn_at } = budget;
        if BudgetOwner::parse(principal).is_none() {
            return Err(format!(
                "The principal {:?} is not valid. It must be all, or user: or group: and an ID.",
                shown(principal)
            ));
        }
        if !seen.insert((principal, period.as_str())) {
            return Err(format!("{principal} has two budgets for one {}. Combine them.", period.as_str()));
        }
        if tokens.is_none() && cost_nanos.is_none() {
            return Err(format!("The budget of {principal} limits nothing. Set tokens, cost_nanos or both."));
        }
        if tokens.iter().chain(cost_nanos).any(|limit| *limit < 1) {
            return Err(format!("The budget of {principal} must be at least 1."));
        }
        if !(0.0..=1.0).contains(warn_at) {
            return Err("warn_at must be from 0 to 1.".to_owned());
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
