//! Lists, creates, changes and deletes groups, their members and their grants.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::{Value, json};
use tallybook_accounts::{
    AuditAction, GroupId, MAX_GROUP_NAME_CHARS, MAX_GROUPS, Permission, UserId, note_audit_change, note_audit_of_users,
};
use tallybook_conversations::BudgetOwner;
use tallybook_database::{Transaction, is_unique_violation, with_retries};
use tallybook_protocol::{Budget, Group, GroupMembers, GroupOrigin, Groups, NewGroup, UpdateGroup};

use crate::{
    budget_store,
    budgets::note_change as note_budget_change,
    error::{SettingsError, shown},
    group_store::{self, LockedGroup, MAX_MEMBERS},
    problems::GroupProblem,
    service::RuntimeSettings,
    store,
};

/// Maximum number of grants of a group.
const MAX_GRANTS: usize = 100;

impl RuntimeSettings {
    /// Lists the groups by name.
    pub async fn list_groups(&self) -> Result<Groups, SettingsError> {
        Ok(Groups { items: group_store::list(&self.context.db).await? })
    }

    /// Returns a group.
    pub async fn find_group(&self, id: GroupId) -> Result<Group, SettingsError> {
        let groups = self.list_groups().await?;
        groups.items.into_iter().find(|group| group.id == id.0).ok_or(SettingsError::NoSuchGroup)
    }

    /// Creates a group without members.
    pub async fn create_group(&self, actor: UserId, new: NewGroup) -> Result<Group, SettingsError> {
        let name = check_name(&new.name)?;
        let grants = check_grants(&new.grants)?;
        self.refresh().await?;
        let tool_servers = self.tool_server_names().await;
        let id = with_retries(|| async {
            let mut tx = self.context.db.begin().await?;
            store::next_version(&mut tx).await?;
            if group_store::is_taken(&mut tx, name, new.origin).await? {
                return Err(SettingsError::GroupNameTaken);
            }
            if group_store::count(&mut tx).await? >= MAX_GROUPS {
                return Err(invalid(GroupProblem::TooMany(MAX_GROUPS)));
            }
            self.check_exist(&grants, &[], &tool_servers)?;
            let id = match group_store::create(&mut tx, name, new.origin).await {
                // A user of the group has just signed in through the identity provider.
                Err(error) if is_unique_violation(&error) => return Err(SettingsError::GroupNameTaken),
                created => created?,
            };
            group_store::set_grants(&mut tx, id, &grants).await?;
            let (subject, action) = (described(name, &grants), AuditAction::GroupCreated);
            note_audit_change(&mut tx, actor, action, &subject, None, Some(&audited(name, &grants))).await?;
            tx.commit().await?;
            Ok(id)
        })
        .await?;
        self.refresh().await?;
        self.find_group(id).await
    }

    /// Changes a group and its members. Absent values stay as they are. If `version` is given and the group has another
    /// version, nothing is changed. Turns that run keep their model.
    pub async fn update_group(
        &self,
        actor: UserId,
        id: GroupId,
        UpdateGroup { name, grants }: UpdateGroup,
        members: Option<Vec<i64>>,
        version: Option<i64>,
    ) -> Result<Group, SettingsError> {
        let name = name.as_deref().map(check_name).transpose()?;
        let grants = grants.as_deref().map(check_grants).transpose()?;
        let members: Option<BTreeSet<UserId>> = members.map(|ids| ids.into_iter().map(UserId).collect());
        if members.as_ref().is_some_and(|members| members.len() > MAX_MEMBERS as usize) {
            return Err(too_many_members());
        }
        self.refresh().await?;
        let tool_servers = self.tool_server_names().await;
        with_retries(|| async {
            let mut tx = self.context.db.begin().await?;
            store::next_version(&mut tx).await?;
            let group = find(&mut tx, id, version).await?;
            let name = name.unwrap_or(&group.name);
            if name != group.name {
                if group.origin() == GroupOrigin::Oidc {
                    return Err(invalid(GroupProblem::NameFromProvider));
                }
                if group_store::is_taken(&mut tx, name, group.origin()).await? {
                    return Err(SettingsError::GroupNameTaken);
                }
            }
            group_store::update(&mut tx, id, name).await?;
            let before = group_store::list_grants_of(&mut tx, id).await?;
            let grants = grants.as_ref().unwrap_or(&before);
            if *grants != before {
                self.check_exist(grants, &before, &tool_servers)?;
                group_store::set_grants(&mut tx, id, grants).await?;
            }
            if *grants != before || name != group.name {
                let subject = format!("{} -> {}", described(&group.name, &before), described(name, grants));
                let (before, after) = (audited(&group.name, &before), audited(name, grants));
                let action = AuditAction::GroupChanged;
                note_audit_change(&mut tx, actor, action, &subject, Some(&before), Some(&after)).await?;
            }
            if let Some(members) = &members {
                replace_members(&mut tx, actor, (id, name, group.origin()), members).await?;
            }
            Ok(tx.commit().await?)
        })
        .await?;
        self.refresh().await?;
        self.find_group(id).await
    }

    /// Deletes a group. What was granted only to it is then open to all users, and its budgets end.
    pub async fn delete_group(&self, actor: UserId, id: GroupId, version: Option<i64>) -> Result<(), SettingsError> {
        with_retries(|| async {
            let mut tx = self.context.db.begin().await?;
            store::next_version(&mut tx).await?;
            let group = find(&mut tx, id, version).await?;
            let before = budget_store::list_in(&mut tx).await?;
            let owner = BudgetOwner::Group(id);
            // In the order of the locks of a turn that begins.
            budget_store::delete_of(&mut tx, owner).await?;
            let is_left = |budget: &&Budget| budget.principal != owner.to_string();
            let after: Vec<Budget> = before.iter().filter(is_left).cloned().collect();
            if after.len() < before.len() {
                note_budget_change(&mut tx, actor, &before, &after).await?;
            }
            let grants = group_store::list_grants_of(&mut tx, id).await?;
            group_store::delete(&mut tx, id).await?;
            let (before, action) = (audited(&group.name, &grants), AuditAction::GroupDeleted);
            note_audit_change(&mut tx, actor, action, &group.name, Some(&before), None).await?;
            Ok::<_, SettingsError>(tx.commit().await?)
        })
        .await?;
        self.refresh().await
    }

    /// Lists the members of an existing group by name.
    pub async fn list_group_members(&self, id: GroupId) -> Result<GroupMembers, SettingsError> {
        Ok(GroupMembers { items: group_store::list_members(&self.context.db, id).await? })
    }

    /// Returns the users with these names, in the order of the names. Fails if a name is unknown.
    pub async fn find_users_named(&self, names: &BTreeSet<String>) -> Result<Vec<UserId>, SettingsError> {
        if names.len() > MAX_MEMBERS as usize {
            return Err(too_many_members());
        }
        let users = group_store::find_users_named(&self.context.db, names).await?;
        let find = |name: &String| {
            users.get(name).copied().ok_or_else(|| invalid(GroupProblem::NoUserNamed(shown(name).to_owned())))
        };
        names.iter().map(find).collect()
    }

    /// Returns the names of users by ID. Users that do not exist are left out.
    pub async fn find_user_names(&self, ids: Vec<i64>) -> Result<HashMap<i64, String>, SettingsError> {
        Ok(group_store::find_user_names(&self.context.db, &ids).await?)
    }

    /// Checks that new grants name models and tool servers that exist. Those in `before` may name removed ones.
    fn check_exist(&self, grants: &[String], before: &[String], tool_servers: &[String]) -> Result<(), SettingsError> {
        let models = &self.context.models;
        for grant in grants.iter().filter(|grant| !before.contains(grant)) {
            match Permission::parse(grant) {
                Some(Permission::Model(name)) if models.find(&name).is_none() => {
                    let (model, models) = (shown(&name).to_owned(), models.names());
                    return Err(invalid(GroupProblem::NoModel { model, models }));
                }
                Some(Permission::ToolServer(name)) if !tool_servers.contains(&name) => {
                    let servers = if tool_servers.is_empty() { "none".to_owned() } else { tool_servers.join(", ") };
                    let server = shown(&name).to_owned();
                    return Err(invalid(GroupProblem::NoToolServer { server, servers }));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the names of the configured tool servers and the added ones.
    pub async fn tool_server_names(&self) -> Vec<String> {
        let added = self.context.added.lock().await;
        let added = added.tool_servers.iter().map(|server| server.fields.name.clone());
        let configured = self.context.configured.tool_servers.iter().map(|(name, _)| name.clone());
        let mut names: Vec<String> = configured.chain(added).collect();
        names.sort();
        names.dedup();
        names
    }
}

async fn find(tx: &mut Transaction, id: GroupId, version: Option<i64>) -> Result<LockedGroup, SettingsError> {
    let group = group_store::find(tx, id).await?.ok_or(SettingsError::NoSuchGroup)?;
    let is_expected = version.is_none_or(|version| version == group.version);
    if is_expected { Ok(group) } else { Err(SettingsError::GroupChanged) }
}

/// Replaces the members of a group, and records each change. The identity provider adds the members of its groups, so
/// admins can only remove them.
async fn replace_members(
    tx: &mut Transaction,
    actor: UserId,
    (id, name, origin): (GroupId, &str, GroupOrigin),
    members: &BTreeSet<UserId>,
) -> Result<(), SettingsError> {
    let before = group_store::list_member_ids(tx, id).await?;
    let added: Vec<UserId> = members.difference(&before).copied().collect();
    let removed: Vec<UserId> = before.difference(members).copied().collect();
    if origin == GroupOrigin::Oidc && !added.is_empty() {
        return Err(SettingsError::MembersFromProvider);
    }
    let known: HashSet<UserId> = group_store::find_users(tx, &added).await?.into_iter().collect();
    if let Some(UserId(unknown)) = added.iter().find(|user| !known.contains(user)) {
        return Err(invalid(GroupProblem::NoUser(*unknown)));
    }
    group_store::remove_members(tx, id, &removed).await?;
    group_store::add_members(tx, id, &added).await?;
    note_audit_of_users(tx, actor, &removed, AuditAction::GroupLeft, name).await?;
    note_audit_of_users(tx, actor, &added, AuditAction::GroupJoined, name).await?;
    Ok(())
}

fn too_many_members() -> SettingsError {
    invalid(GroupProblem::TooManyMembers(MAX_MEMBERS))
}

fn check_name(name: &str) -> Result<&str, SettingsError> {
    let name = name.trim();
    if name.is_empty() || name.chars().count() > MAX_GROUP_NAME_CHARS || name.chars().any(char::is_control) {
        return Err(invalid(GroupProblem::Name(MAX_GROUP_NAME_CHARS)));
    }
    Ok(name)
}

/// Checks that each grant can be read, and returns them in alphabetical order.
fn check_grants(grants: &[String]) -> Result<Vec<String>, SettingsError> {
    if grants.len() > MAX_GRANTS {
        return Err(invalid(GroupProblem::TooManyGrants(MAX_GRANTS)));
    }
    if let Some(unknown) = grants.iter().find(|grant| Permission::parse(grant).is_none()) {
        return Err(invalid(GroupProblem::Grant(shown(unknown).to_owned())));
    }
    let grants: BTreeSet<String> = grants.iter().cloned().collect();
    Ok(grants.into_iter().collect())
}

/// Describes a group for the audit log, which shortens the text.
fn described(name: &str, grants: &[String]) -> String {
    if grants.is_empty() { name.to_owned() } else { format!("{name}: {}", grants.join(", ")) }
}

/// Returns a group as a value of the audit log. Its members have rows of their own.
fn audited(name: &str, grants: &[String]) -> Value {
    json!({"name": name, "grants": grants})
}

fn invalid(problem: GroupProblem) -> SettingsError {
    SettingsError::InvalidGroup(problem)
}
