//! SQL on `user_groups` and `group_members`: the groups of a user. Administration of groups is in the crate of the
//! settings that change while the server runs.

use tallybook_database::{Database, Transaction, now, select};
use tallybook_protocol::UserRole;

use crate::UserId;

/// Row ID of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, sqlx::Type)]
#[sqlx(transparent)]
pub struct GroupId(pub i64);

/// A group of a user that the identity provider named.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct NamedGroup {
    pub(crate) id: GroupId,
    pub(crate) name: String,
}

/// Lists the groups of a user with their names, by name.
pub(crate) async fn list_of(db: &Database, user: UserId) -> sqlx::Result<Vec<(GroupId, String)>> {
    db.reader()
        .query(select!(
            "SELECT g.id, g.name FROM group_members m JOIN user_groups g ON g.id = m.group_id WHERE m.user_id = ? \
             ORDER BY g.name, g.id"
        ))
        .bind(user)
        .fetch_all()
        .await
}

/// Returns a user's role, and the user's groups. The role is `None` if the user does not exist.
pub(crate) async fn find_membership(db: &Database, user: UserId) -> sqlx::Result<(Option<UserRole>, Vec<GroupId>)> {
    let rows: Vec<(String, Option<GroupId>)> = db
        .reader()
        .query(select!(
            "SELECT u.role, m.group_id FROM users u LEFT JOIN group_members m ON m.user_id = u.id WHERE u.id = ?"
        ))
        .bind(user)
        .fetch_all()
        .await?;
    let role = rows.first().map(|(role, _)| UserRole::from(role.clone()));
    Ok((role, rows.into_iter().filter_map(|(_, group)| group).collect()))
}

/// Lists the groups of a user that the identity provider named, by name.
pub(crate) async fn list_from_provider(tx: &mut Transaction, user: UserId) -> sqlx::Result<Vec<NamedGroup>> {
    tx.query(
        "SELECT g.id, g.name FROM group_members m JOIN user_groups g ON g.id = m.group_id \
         WHERE m.user_id = ? AND g.origin = 'oidc' ORDER BY g.name",
    )
    .bind(user)
    .fetch_all()
    .await
}

/// Finds a group that the identity provider named.
pub(crate) async fn find_from_provider(tx: &mut Transaction, name: &str) -> sqlx::Result<Option<GroupId>> {
    let found = tx.query("SELECT id FROM user_groups WHERE origin = 'oidc' AND name = ?").bind(name);
    Ok(found.fetch_optional_value::<i64>().await?.map(GroupId))
}

/// Returns the number of groups.
pub(crate) async fn count(tx: &mut Transaction) -> sqlx::Result<i64> {
    tx.query("SELECT COUNT(*) FROM user_groups").fetch_value().await
}

/// Creates a group that the identity provider named.
pub(crate) async fn create_from_provider(tx: &mut Transaction, name: &str) -> sqlx::Result<GroupId> {
    let insert = "INSERT INTO user_groups (name, origin, version, created_at) VALUES (?, 'oidc', 1, ?)";
    Ok(GroupId(tx.query(insert).bind(name).bind(now()).execute().await?.inserted_id))
}

/// Adds a user to a group.
pub(crate) async fn add(tx: &mut Transaction, group: GroupId, user: UserId) -> sqlx::Result<()> {
    tx.query("INSERT INTO group_members (group_id, user_id) VALUES (?, ?)")
        .bind(group)
        .bind(user)
        .execute()
        .await
        .map(|_| ())
}

/// Removes a user from a group.
pub(crate) async fn remove(tx: &mut Transaction, group: GroupId, user: UserId) -> sqlx::Result<()> {
    tx.query("DELETE FROM group_members WHERE group_id = ? AND user_id = ?")
        .bind(group)
        .bind(user)
        .execute()
        .await
        .map(|_| ())
}

/// Increments the version of a group, because its members have changed.
pub(crate) async fn next_version(tx: &mut Transaction, group: GroupId) -> sqlx::Result<()> {
    tx.query("UPDATE user_groups SET version = version + 1 WHERE id = ?").bind(group).execute().await.map(|_| ())
}
