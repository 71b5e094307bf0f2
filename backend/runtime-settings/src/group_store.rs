//! SQL on the tables `user_groups`, `group_members` and `grants`.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::{DateTime, Utc};
use tallybook_accounts::{Grants, GroupId, MAX_GROUPS, Permission, UserId};
use tallybook_database::{Database, Transaction, now, select};
use tallybook_protocol::{Group, GroupMember, GroupOrigin};

/// Maximum number of grants that are read: those of all groups.
const MAX_GRANTS: u32 = 100_000;

/// Maximum number of members of a group that admins can set.
pub(crate) const MAX_MEMBERS: u32 = 10_000;

/// Number of users that one statement finds or adds.
const USERS_AT_ONCE: usize = 500;

#[derive(sqlx::FromRow)]
struct GroupRow {
    id: GroupId,
    name: String,
    origin: String,
    version: i64,
    created_at: DateTime<Utc>,
    members: i64,
}

/// A group that a transaction changes.
#[derive(sqlx::FromRow)]
pub(crate) struct LockedGroup {
    pub(crate) name: String,
    origin: String,
    pub(crate) version: i64,
}

impl LockedGroup {
    /// Returns the source of the group.
    pub(crate) fn origin(&self) -> GroupOrigin {
        origin(&self.origin)
    }
}

fn origin(name: &str) -> GroupOrigin {
    if name == GroupOrigin::Oidc.as_str() { GroupOrigin::Oidc } else { GroupOrigin::Page }
}

/// Lists the groups by name, with their grants.
pub(crate) async fn list(db: &Database) -> sqlx::Result<Vec<Group>> {
    let mut query = db.reader().query(select!(
        "SELECT id, name, origin, version, created_at, \
         (SELECT COUNT(*) FROM group_members m JOIN users u ON u.id = m.user_id WHERE m.group_id = user_groups.id \
         AND u.deleted_at IS NULL) AS members FROM user_groups"
    ));
    query.push(" ORDER BY name, id LIMIT ").push_bind(MAX_GROUPS);
    let rows: Vec<GroupRow> = query.fetch_all().await?;
    let mut grants = BTreeMap::<i64, Vec<String>>::new();
    for (group, permission) in list_grants(db).await? {
        grants.entry(group.0).or_default().push(permission);
    }
    let group = |GroupRow { id, name, origin: source, version, created_at, members }| Group {
        id: id.0,
        name,
        origin: origin(&source),
        members,
        grants: grants.remove(&id.0).unwrap_or_default(),
        version,
        created_at,
    };
    Ok(rows.into_iter().map(group).collect())
}

async fn list_grants(db: &Database) -> sqlx::Result<Vec<(GroupId, String)>> {
    let grants =
        db.reader().query(select!("SELECT group_id, permission FROM grants ORDER BY permission, group_id LIMIT ?"));
    grants.bind(MAX_GRANTS).fetch_all().await
}

/// Returns the groups to which each permission is granted. A permission of a later version is ignored.
pub(crate) async fn read_grants(db: &Database) -> sqlx::Result<Grants> {
    let mut grants = Grants::new();
    for (group, permission) in list_grants(db).await? {
        if let Some(permission) = Permission::parse(&permission) {
            grants.entry(permission).or_default().insert(group);
        }
    }
    Ok(grants)
}

/// Finds a group. No other transaction changes groups at the same time, because each first increments the version of
/// the catalog.
pub(crate) async fn find(tx: &mut Transaction, id: GroupId) -> sqlx::Result<Option<LockedGroup>> {
    tx.query("SELECT name, origin, version FROM user_groups WHERE id = ?").bind(id).fetch_optional().await
}

/// Returns `true` if there is a group with this name and source.
pub(crate) async fn is_taken(tx: &mut Transaction, name: &str, origin: GroupOrigin) -> sqlx::Result<bool> {
    let count = tx.query("SELECT COUNT(*) FROM user_groups WHERE origin = ? AND name = ?");
    Ok(count.bind(origin.as_str()).bind(name).fetch_value::<i64>().await? > 0)
}

/// Returns the number of groups.
pub(crate) async fn count(tx: &mut Transaction) -> sqlx::Result<i64> {
    tx.query("SELECT COUNT(*) FROM user_groups").fetch_value().await
}

/// Creates a group.
pub(crate) async fn create(tx: &mut Transaction, name: &str, origin: GroupOrigin) -> sqlx::Result<GroupId> {
    let insert = tx.query("INSERT INTO user_groups (name, origin, version, created_at) VALUES (?, ?, 1, ?)");
    let created = insert.bind(name).bind(origin.as_str()).bind(now()).execute().await?;
    Ok(GroupId(created.inserted_id))
}

/// Renames a group and increments its version.
pub(crate) async fn update(tx: &mut Transaction, id: GroupId, name: &str) -> sqlx::Result<()> {
    let update = tx.query("UPDATE user_groups SET name = ?, version = version + 1 WHERE id = ?");
    update.bind(name).bind(id).execute().await.map(|_| ())
}

/// Deletes a group, its memberships and its grants.
pub(crate) async fn delete(tx: &mut Transaction, id: GroupId) -> sqlx::Result<()> {
    tx.query("DELETE FROM user_groups WHERE id = ?").bind(id).execute().await.map(|_| ())
}

/// Lists the grants of a group.
pub(crate) async fn list_grants_of(tx: &mut Transaction, id: GroupId) -> sqlx::Result<Vec<String>> {
    tx.query("SELECT permission FROM grants WHERE group_id = ? ORDER BY permission").bind(id).fetch_values().await
}

/// Replaces the grants of a group.
pub(crate) async fn set_grants(tx: &mut Transaction, id: GroupId, grants: &[String]) -> sqlx::Result<()> {
    tx.query("DELETE FROM grants WHERE group_id = ?").bind(id).execute().await?;
    for permission in grants {
        let insert = tx.query("INSERT INTO grants (group_id, permission) VALUES (?, ?)");
        insert.bind(id).bind(permission).execute().await?;
    }
    Ok(())
}

/// Lists the members of a group by name. Users who deleted their accounts stay members, so that their usage counts, but
/// are left out.
pub(crate) async fn list_members(db: &Database, id: GroupId) -> sqlx::Result<Vec<GroupMember>> {
    let rows: Vec<(i64, String)> = db
        .reader()
        .query(select!(
            "SELECT u.id, u.name FROM group_members m JOIN users u ON u.id = m.user_id WHERE m.group_id = ? \
             AND u.deleted_at IS NULL ORDER BY u.name, u.id LIMIT ?"
        ))
        .bind(id)
        .bind(MAX_MEMBERS)
        .fetch_all()
        .await?;
    Ok(rows.into_iter().map(|(id, name)| GroupMember { id, name }).collect())
}

/// Returns those of the users who have an account.
pub(crate) async fn find_users(tx: &mut Transaction, users: &[UserId]) -> sqlx::Result<Vec<UserId>> {
    let mut found = Vec::new();
    for users in users.chunks(USERS_AT_ONCE) {
        let mut query = tx.query("SELECT id FROM users WHERE deleted_at IS NULL AND id IN (");
        query.push_list(users).push(")");
        found.extend(query.fetch_values::<UserId>().await?);
    }
    Ok(found)
}

/// Returns those of the users who have an account, by name.
pub(crate) async fn find_users_named(db: &Database, names: &BTreeSet<String>) -> sqlx::Result<HashMap<String, UserId>> {
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut found = HashMap::new();
    for names in names.chunks(USERS_AT_ONCE) {
        let mut query = db.reader().query(select!("SELECT name, id FROM users WHERE deleted_at IS NULL AND name IN ("));
        query.push_list(names.iter().copied()).push(")");
        found.extend(query.fetch_all::<(String, UserId)>().await?);
    }
    Ok(found)
}

/// Returns the names of users by ID.
pub(crate) async fn find_user_names(db: &Database, ids: &[i64]) -> sqlx::Result<HashMap<i64, String>> {
    let mut found = HashMap::new();
    for ids in ids.chunks(USERS_AT_ONCE) {
        let mut query = db.reader().query(select!("SELECT id, name FROM users WHERE id IN ("));
        query.push_list(ids).push(")");
        found.extend(query.fetch_all::<(i64, String)>().await?);
    }
    Ok(found)
}

/// Returns the members of a group who have an account.
pub(crate) async fn list_member_ids(tx: &mut Transaction, id: GroupId) -> sqlx::Result<BTreeSet<UserId>> {
    let members = tx
        .query(
            "SELECT m.user_id FROM group_members m JOIN users u ON u.id = m.user_id WHERE m.group_id = ? \
             AND u.deleted_at IS NULL",
        )
        .bind(id);
    Ok(members.fetch_values::<UserId>().await?.into_iter().collect())
}

/// Adds members to a group.
pub(crate) async fn add_members(tx: &mut Transaction, id: GroupId, users: &[UserId]) -> sqlx::Result<()> {
    for users in users.chunks(USERS_AT_ONCE) {
        let mut insert = tx.query("INSERT INTO group_members (group_id, user_id) VALUES ");
        insert.push_rows(users, |row, user| {
            row.push(id).push(*user);
        });
        insert.execute().await?;
    }
    Ok(())
}

/// Removes members from a group.
pub(crate) async fn remove_members(tx: &mut Transaction, id: GroupId, users: &[UserId]) -> sqlx::Result<()> {
    for users in users.chunks(USERS_AT_ONCE) {
        let mut delete = tx.query("DELETE FROM group_members WHERE group_id = ?").bind(id);
        delete.push(" AND user_id IN (").push_list(users).push(")");
        delete.execute().await?;
    }
    Ok(())
}
