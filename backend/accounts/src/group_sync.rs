//! Sets a user's groups to those that the identity provider names at a sign-in.

use std::collections::BTreeSet;

use tallybook_database::is_unique_violation;
use tallybook_protocol::first_chars;

use crate::{
    Accounts, AccountsError, UserId,
    limits::{MAX_GROUP_NAME_CHARS, MAX_GROUPS, MAX_GROUPS_OF_USER},
    openid::Claims,
    service::with_retries,
    store::{
        audit::{self, Action},
        groups, users,
    },
};

impl Accounts {
    /// Sets the groups of a user to those of the claims. A group that does not exist yet is created, without grants.
    /// Does nothing if no claim is configured, or if the provider could not be asked for the groups.
    pub(crate) async fn sync_groups(&self, user: UserId, claims: &Claims) -> Result<(), AccountsError> {
        let openid = self.context.settings.openid.as_ref();
        if openid.is_none_or(|openid| openid.groups_claim.is_none()) {
            return Ok(());
        }
        let Some(names) = &claims.groups else { return Ok(()) };
        let names = usable_names(names);
        let store = async || with_retries(|| self.store_groups(user, &names)).await;
        match store().await {
            // An admin has created a group of the same name at the same moment.
            Err(AccountsError::Storage(error)) if is_unique_violation(&error) => store().await,
            outcome => outcome,
        }
    }

    async fn store_groups(&self, user: UserId, names: &BTreeSet<&str>) -> Result<(), AccountsError> {
        let mut tx = self.context.db.begin().await?;
        // Serializes sign-ins, so that each sees the groups that earlier ones created.
        users::lock_user(&mut tx, UserId::LOCAL).await?;
        if users::find_in(&mut tx, user).await?.is_none_or(|user| user.deleted_at.is_some()) {
            return Ok(());
        }
        let before = groups::list_from_provider(&mut tx, user).await?;
        let is_equal = before.len() == names.len() && before.iter().all(|group| names.contains(group.name.as_str()));
        if is_equal {
            return Ok(());
        }
        for group in before.iter().filter(|group| !names.contains(group.name.as_str())) {
            groups::remove(&mut tx, group.id, user).await?;
            groups::next_version(&mut tx, group.id).await?;
        }
        for name in names.iter().filter(|name| !before.iter().any(|group| group.name == **name)) {
            let group = match groups::find_from_provider(&mut tx, name).await? {
                Some(group) => group,
                None if groups::count(&mut tx).await? >= MAX_GROUPS => {
                    tracing::warn!(limit = MAX_GROUPS, "too many groups; a group of the identity provider is ignored");
                    continue;
                }
                None => groups::create_from_provider(&mut tx, name).await?,
            };
            groups::add(&mut tx, group, user).await?;
            groups::next_version(&mut tx, group).await?;
        }
        let subject = names.iter().copied().collect::<Vec<_>>().join(", ");
        audit::note(&mut tx, None, user, Action::GroupsSynced, &subject).await?;
        Ok(tx.commit().await?)
    }
}

/// Returns the names that groups can have, without duplicates.
fn usable_names(names: &[String]) -> BTreeSet<&str> {
    if names.len() > MAX_GROUPS_OF_USER {
        tracing::warn!(limit = MAX_GROUPS_OF_USER, "the identity provider names too many groups; the rest is ignored");
    }
    let names = names.iter().take(MAX_GROUPS_OF_USER).map(|name| name.trim());
    let is_usable = |name: &&str| {
        !name.is_empty() && first_chars(name, MAX_GROUP_NAME_CHARS) == *name && !name.contains(char::is_control)
    };
    names.filter(is_usable).collect()
}
