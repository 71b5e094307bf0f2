//! Shows, changes and restores the settings of the server. Each change is one row of the history.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Map, Value};
use tallybook_accounts::{AuditAction, UserId, note_audit_change};
use tallybook_conversations::models::Catalog;
use tallybook_database::{Database, Transaction, with_retries};
use tallybook_protocol::{CurrentServerSettings, SettingsHistory};

use crate::{
    budget_store,
    configured::Configured,
    effective::{Effective, budgets_for_conversations, check, merge, retention},
    error::SettingsError,
    problems::SettingProblem,
    service::{Context, RuntimeSettings},
    settings_store as settings, store,
};

/// A change that an admin asks for.
enum Change {
    /// New values by name; null is the default.
    Patch(Map<String, Value>),
    /// The values after the change with this ID.
    Restore(i64),
}

impl RuntimeSettings {
    /// Returns the settings that apply.
    pub async fn find_settings(&self) -> Result<CurrentServerSettings, SettingsError> {
        Ok(self.find_settings_with_problems().await?.0)
    }

    /// Returns the settings that apply, and why changed settings have no effect, for a page in another language.
    pub async fn find_settings_with_problems(
        &self,
    ) -> Result<(CurrentServerSettings, Vec<SettingProblem>), SettingsError> {
        self.refresh().await?;
        let added = self.context.added.lock().await;
        let Context { configured, models, .. } = &*self.context;
        Ok(show(configured, models, &added.settings, added.settings_version))
    }

    /// Changes settings: each member of `patch` replaces a setting, and null gives it its default again. If `version`
    /// is given and the settings have another version, nothing is changed.
    pub async fn update_settings(
        &self,
        actor: UserId,
        patch: Map<String, Value>,
        version: Option<i64>,
    ) -> Result<CurrentServerSettings, SettingsError> {
        if let Some(name) = patch.keys().find(|name| self.is_set_in_file(name)) {
            return Err(SettingsError::SettingInFile(name.clone()));
        }
        // A model that another server added a moment ago can be named.
        self.refresh().await?;
        let change = Change::Patch(patch);
        with_retries(|| self.store(actor, version, &change)).await?;
        self.find_settings().await
    }

    /// Restores the values that the settings had after the change with this ID, except those that the settings file or
    /// the environment sets.
    pub async fn restore_settings(
        &self,
        actor: UserId,
        change: i64,
        version: Option<i64>,
    ) -> Result<CurrentServerSettings, SettingsError> {
        let change = Change::Restore(change);
        with_retries(|| self.store(actor, version, &change)).await?;
        self.find_settings().await
    }

    /// Lists the latest changes, latest first.
    pub async fn list_settings_changes(&self) -> Result<SettingsHistory, SettingsError> {
        Ok(SettingsHistory { items: settings::list_changes(&self.context.db).await? })
    }

    fn is_set_in_file(&self, name: &str) -> bool {
        self.context.configured.set_in_file.contains(&name)
    }

    /// Returns the patch that makes the settings `now` those after an earlier change.
    async fn patch_to(
        &self,
        tx: &mut Transaction,
        now: &Map<String, Value>,
        change: i64,
    ) -> Result<Map<String, Value>, SettingsError> {
        let target = settings::find_after(tx, change).await?.ok_or(SettingsError::NoSuchChange)?;
        let names: BTreeSet<&String> = now.keys().chain(target.keys()).collect();
        let names = names.into_iter().filter(|name| !self.is_set_in_file(name));
        Ok(names.map(|name| (name.clone(), target.get(name).cloned().unwrap_or_default())).collect())
    }

    /// Stores a change. Stores nothing if it changes nothing.
    async fn store(&self, actor: UserId, version: Option<i64>, change: &Change) -> Result<(), SettingsError> {
        let context = &*self.context;
        let mut tx = context.db.begin().await?;
        store::next_version(&mut tx).await?;
        let current = settings::version_in(&mut tx).await?;
        if version.is_some_and(|version| version != current) {
            return Err(SettingsError::SettingsChanged);
        }
        let before = settings::list_in(&mut tx).await?;
        let patch = match change {
            Change::Patch(patch) => patch.clone(),
            Change::Restore(change) => self.patch_to(&mut tx, &before, *change).await?,
        };
        let (mut after, mut was, mut is) = (before.clone(), Map::new(), Map::new());
        for (name, value) in patch {
            let old = before.get(&name).cloned().unwrap_or_default();
            // A restored value that stays as it is need not be valid: its model may have been removed.
            if old == value && before.contains_key(&name) {
                continue;
            }
            let new = check(&context.configured, &context.models, &name, value)?;
            if old == new {
                continue;
            }
            if new.is_null() {
                after.remove(&name);
            } else {
                after.insert(name.clone(), new.clone());
            }
            settings::set(&mut tx, &name, Some(&new).filter(|value| !value.is_null())).await?;
            was.insert(name.clone(), old);
            is.insert(name, new);
        }
        if is.is_empty() {
            return Ok(());
        }
        // `next_version` has changed a row, so of concurrent transactions only one commits.
        let next = current.saturating_add(1);
        settings::add_change(&mut tx, next, actor, &was, &is, &after).await?;
        let (subject, action) = (summary(next, &was, &is), AuditAction::SettingsChanged);
        note_audit_change(&mut tx, actor, action, &subject, Some(&was.into()), Some(&is.into())).await?;
        tx.commit().await?;
        Ok(())
    }
}

/// Returns the settings that apply to servers of this database, without starting one.
pub async fn read_settings(
    db: &Database,
    configured: &Configured,
    models: &Catalog,
) -> Result<CurrentServerSettings, SettingsError> {
    let (changed, version) = settings::list(db).await?;
    Ok(show(configured, models, &changed, version).0)
}

/// Returns the retention time of deleted data for servers of this database, without starting one.
pub async fn read_retention(
    db: &Database,
    configured: &Configured,
    models: &Catalog,
) -> Result<Duration, SettingsError> {
    let settings = read_settings(db, configured, models).await?.settings;
    Ok(retention(&settings, &budgets_for_conversations(budget_store::list(db).await?)))
}

fn show(
    configured: &Configured,
    models: &Catalog,
    changed: &Map<String, Value>,
    version: i64,
) -> (CurrentServerSettings, Vec<SettingProblem>) {
    let Effective { settings, problems } = merge(configured, changed, models);
    let is_set_in_file = |name: &String| configured.set_in_file.contains(&name.as_str());
    let current = CurrentServerSettings {
        settings,
        changed: changed.keys().filter(|name| !is_set_in_file(name)).cloned().collect(),
        set_in_file: configured.set_in_file.iter().map(|name| (*name).to_owned()).collect(),
        problems: problems.iter().map(ToString::to_string).collect(),
        version,
    };
    (current, problems)
}

/// Summarizes a change for the audit log, which shortens the text.
fn summary(change: i64, before: &Map<String, Value>, after: &Map<String, Value>) -> String {
    let show =
        |value: Option<&Value>| value.filter(|value| !value.is_null()).map_or("default".to_owned(), Value::to_string);
    let changes = after.iter().map(|(name, value)| match name.as_str() {
        "instructions" => name.clone(),
        _ => format!("{name}: {} → {}", show(before.get(name)), show(Some(value))),
    });
    format!("change {change}: {}", changes.collect::<Vec<_>>().join("; "))
}
