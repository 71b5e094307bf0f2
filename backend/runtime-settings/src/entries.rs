//! Creates, changes and deletes entries of the catalog: models and tool servers, each with settings that are stored as
//! JSON and one secret that is stored encrypted.

use secrecy::SecretString;
use serde_json::{Map, Value};
use tallybook_accounts::{AuditAction, UserId, note_audit_change};
use tallybook_conversations::tool_pins::forget_server;
use tallybook_database::{Transaction, with_retries};

use crate::{
    error::SettingsError,
    kind::{Checked, EntryKind},
    model_source::{ModelSource, read_key},
    seal::Sealed,
    service::RuntimeSettings,
    store::{self, EntryRow, MAX_ENTRIES},
    tool_server_source::{ToolServerSource, read_headers},
};

/// Names that are paths of the API, or that URLs cannot contain.
const RESERVED_NAMES: [&str; 4] = ["discover", "test", ".", ".."];

/// Values of the audit log in place of a secret: one that is stored, and one that a change stores.
const SECRET_SET: &str = "set";
const SECRET_CHANGED: &str = "changed";

impl RuntimeSettings {
    /// Adds an entry. `new` has the settings and the secret. Returns the name.
    pub(crate) async fn create_entry(
        &self,
        kind: EntryKind,
        actor: UserId,
        mut new: Map<String, Value>,
    ) -> Result<String, SettingsError> {
        let secret = take_secret(kind, &mut new)?;
        let Checked { name, settings } = self.check(kind, new, secret.as_ref())?;
        if RESERVED_NAMES.contains(&name.as_str()) {
            return Err(invalid(kind, format!("The name {name:?} is reserved. Choose another name.")));
        }
        self.check_added(kind, &name)?;
        let sealed = self.seal(kind, &name, secret)?;
        with_retries(|| async {
            let mut tx = self.context.db.begin().await?;
            let version = store::next_version(&mut tx).await?;
            if store::find(&mut tx, kind, &name).await?.is_some() {
                return Err(SettingsError::NameTaken(kind, name.clone()));
            }
            if usize::try_from(store::count(&mut tx, kind).await?).is_ok_and(|count| count >= MAX_ENTRIES) {
                return Err(SettingsError::TooMany(kind, MAX_ENTRIES));
            }
            let id = store::create(&mut tx, kind, &name, &settings, version).await?;
            if kind == EntryKind::ToolServer {
                // An earlier server may have had the name.
                forget_server(&mut tx, &name).await?;
            }
            store::set_secret(&mut tx, id, kind.secret(), sealed.as_ref()).await?;
            let action = match kind {
                EntryKind::Model => AuditAction::ModelAdded,
                EntryKind::ToolServer => AuditAction::ToolServerAdded,
            };
            let after = audited(kind, &settings, sealed.is_some().then_some(SECRET_SET));
            note_audit_change(&mut tx, actor, action, &name, None, Some(&after)).await?;
            Ok(tx.commit().await?)
        })
        .await?;
        self.refresh().await?;
        Ok(name)
    }

    /// Changes an added entry: each member of `patch` replaces a setting, and null removes it. If `version` is given
    /// and the entry has another version, nothing is changed.
    pub(crate) async fn update_entry(
        &self,
        kind: EntryKind,
        actor: UserId,
        name: &str,
        mut patch: Map<String, Value>,
        version: Option<i64>,
    ) -> Result<(), SettingsError> {
        self.check_added(kind, name)?;
        let is_secret_set = patch.contains_key(kind.secret());
        let secret = take_secret(kind, &mut patch)?;
        with_retries(|| async {
            let mut tx = self.context.db.begin().await?;
            let next = store::next_version(&mut tx).await?;
            let row = find(&mut tx, kind, name, version).await?;
            let stored = store::find_secret(&mut tx, row.id, kind.secret()).await?;
            let had_secret = stored.is_some();
            let before = audited(kind, &row.settings, had_secret.then_some(SECRET_SET));
            let kept = stored.filter(|_| !is_secret_set);
            let (after, has_moved) = merge(kind, &row.settings, &patch, kept.is_some())?;
            let kept = kept.map(|sealed| self.open(kind, name, &sealed)).transpose()?;
            let secret_after = match (&secret, &kept) {
                (None, None) => None,
                (Some(_), _) if had_secret => Some(SECRET_CHANGED),
                _ => Some(SECRET_SET),
            };
            let checked = self.check(kind, after, secret.as_ref().or(kept.as_ref()))?;
            if checked.name != name {
                return Err(invalid(kind, "The name cannot be changed. Add a new entry instead."));
            }
            if is_secret_set {
                let sealed = self.seal(kind, name, secret.clone())?;
                store::set_secret(&mut tx, row.id, kind.secret(), sealed.as_ref()).await?;
            }
            store::update(&mut tx, row.id, &checked.settings, next).await?;
            if kind == EntryKind::ToolServer && has_moved {
                forget_server(&mut tx, name).await?;
            }
            let action = match kind {
                EntryKind::Model => AuditAction::ModelChanged,
                EntryKind::ToolServer => AuditAction::ToolServerChanged,
            };
            let after = audited(kind, &checked.settings, secret_after);
            note_audit_change(&mut tx, actor, action, name, Some(&before), Some(&after)).await?;
            Ok(tx.commit().await?)
        })
        .await?;
        self.refresh().await
    }

    /// Returns the settings of an added entry with a change that is not stored, and its secret: the one in `patch`, or
    /// else the stored one, which no other server receives.
    pub(crate) async fn patched(
        &self,
        kind: EntryKind,
        name: &str,
        mut patch: Map<String, Value>,
    ) -> Result<(Map<String, Value>, Option<SecretString>), SettingsError> {
        let is_secret_set = patch.contains_key(kind.secret());
        let secret = take_secret(kind, &mut patch)?;
        let stored = store::list(&self.context.db).await?;
        let stored = stored.into_iter().find(|entry| entry.kind == kind.as_str() && entry.row.name == name);
        let stored = stored.ok_or_else(|| SettingsError::NotFound(kind, name.to_owned()))?;
        let kept = stored.sealed.filter(|_| !is_secret_set);
        let (settings, _) = merge(kind, &stored.row.settings, &patch, kept.is_some())?;
        let kept = kept.map(|sealed| self.open(kind, name, &sealed)).transpose()?;
        Ok((settings, secret.or(kept)))
    }

    /// Removes an added entry, even if the settings file has an entry of the same name. Turns that use it continue.
    pub(crate) async fn delete_entry(
        &self,
        kind: EntryKind,
        actor: UserId,
        name: &str,
        version: Option<i64>,
    ) -> Result<(), SettingsError> {
        with_retries(|| async {
            let mut tx = self.context.db.begin().await?;
            store::next_version(&mut tx).await?;
            let found = find(&mut tx, kind, name, version).await;
            if let Err(SettingsError::NotFound(..)) = found {
                self.check_added(kind, name)?;
            }
            let row = found?;
            let secret = store::find_secret(&mut tx, row.id, kind.secret()).await?;
            let before = audited(kind, &row.settings, secret.is_some().then_some(SECRET_SET));
            store::delete(&mut tx, row.id).await?;
            let action = match kind {
                EntryKind::Model => AuditAction::ModelRemoved,
                EntryKind::ToolServer => AuditAction::ToolServerRemoved,
            };
            note_audit_change(&mut tx, actor, action, name, Some(&before), None).await?;
            Ok::<_, SettingsError>(tx.commit().await?)
        })
        .await?;
        self.refresh().await
    }

    /// Reads and checks the settings of an entry. Sends no requests.
    fn check(
        &self,
        kind: EntryKind,
        settings: Map<String, Value>,
        secret: Option<&SecretString>,
    ) -> Result<Checked, SettingsError> {
        match kind {
            EntryKind::Model => {
                ModelSource::check(&self.context.models, &self.context.configured.model_defaults, settings, secret)
            }
            EntryKind::ToolServer => ToolServerSource::check(settings, secret),
        }
    }

    /// Returns an error if the entry cannot be changed here.
    fn check_added(&self, kind: EntryKind, name: &str) -> Result<(), SettingsError> {
        let is_configured = self.context.configured.has(kind, name);
        if is_configured { Err(SettingsError::SetInFile(kind, name.to_owned())) } else { Ok(()) }
    }

    fn seal(&self, kind: EntryKind, name: &str, secret: Option<SecretString>) -> Result<Option<Sealed>, SettingsError> {
        let sealer = &self.context.sealer;
        Ok(secret.map(|secret| sealer.seal(&secret, &kind.seal_context(name))).transpose()?)
    }

    fn open(&self, kind: EntryKind, name: &str, sealed: &Sealed) -> Result<SecretString, SettingsError> {
        let opened = self.context.sealer.open(sealed, &kind.seal_context(name));
        opened.map_err(|error| invalid(kind, error.to_string()))
    }
}

/// Removes the secret from the settings and returns it.
pub(crate) fn take_secret(
    kind: EntryKind,
    settings: &mut Map<String, Value>,
) -> Result<Option<SecretString>, SettingsError> {
    let Some(value) = settings.remove(kind.secret()) else { return Ok(None) };
    match kind {
        EntryKind::Model => read_key(value),
        EntryKind::ToolServer => read_headers(value),
    }
}

/// Returns the settings of an entry as a value of the audit log, with `secret` in place of its secret.
fn audited(kind: EntryKind, settings: &str, secret: Option<&str>) -> Value {
    // Settings that cannot be read are stored as they are.
    let mut value = serde_json::from_str(settings).unwrap_or_else(|_| Value::from(settings));
    if let (Some(members), Some(secret)) = (value.as_object_mut(), secret) {
        members.insert(kind.secret().to_owned(), secret.into());
    }
    value
}

/// Returns the row of an added entry, if it has the expected version.
async fn find(
    tx: &mut Transaction,
    kind: EntryKind,
    name: &str,
    version: Option<i64>,
) -> Result<EntryRow, SettingsError> {
    let row = store::find(tx, kind, name).await?;
    let row = row.ok_or_else(|| SettingsError::NotFound(kind, name.to_owned()))?;
    if version.is_some_and(|version| version != row.version) {
        return Err(SettingsError::VersionChanged(kind));
    }
    Ok(row)
}

/// Replaces stored settings; null removes one. Also returns `true` if the entry is for another server now. If a stored
/// secret is kept, the server that receives it must stay the same.
fn merge(
    kind: EntryKind,
    settings: &str,
    patch: &Map<String, Value>,
    keeps_secret: bool,
) -> Result<(Map<String, Value>, bool), SettingsError> {
    let before: Map<String, Value> = serde_json::from_str(settings)
        .map_err(|_| invalid(kind, "The stored settings cannot be read. Remove the entry and add it again."))?;
    let mut after = before.clone();
    for (field, value) in patch {
        if value.is_null() {
            after.remove(field);
        } else {
            after.insert(field.clone(), value.clone());
        }
    }
    let has_moved = kind.address().iter().any(|field| before.get(*field) != after.get(*field));
    if keeps_secret && has_moved {
        return Err(invalid(
            kind,
            format!(
                "The stored {0} is not sent to another server. Send {0} together with the new address.",
                kind.secret()
            ),
        ));
    }
    Ok((after, has_moved))
}

fn invalid(kind: EntryKind, problem: impl Into<String>) -> SettingsError {
    SettingsError::Invalid(kind, problem.into())
}
