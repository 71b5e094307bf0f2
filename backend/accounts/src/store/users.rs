//! SQL on `users`.

use chrono::{DateTime, Utc};
use tallybook_database::{Database, Transaction, now, select};
use tallybook_protocol::{User, UserRole};

use super::super::{UserId, names::skeleton_of};

/// Counts other admins who can sign in. That excludes the unclaimed local user, an admin without a password or an
/// identity. Identities of a previously configured issuer do not count, since users cannot sign in with them.
const COUNT_OTHER_ADMINS: &str = "SELECT COUNT(*) FROM users WHERE id <> ? AND role = 'admin' AND deactivated_at IS NULL \
     AND (password_hash IS NOT NULL OR id IN (SELECT user_id FROM identities WHERE issuer = ?))";

/// An ID that no user has, lower than all user IDs.
pub(crate) const NO_USER: UserId = UserId(0);

/// The columns of a [`UserRow`].
macro_rules! user_columns {
    () => {
        "id, name, role, created_at, deactivated_at, deleted_at"
    };
}

const FIND: &str = concat!("SELECT ", user_columns!(), " FROM users WHERE id = ?");

// Two updates: one that changes the row, and one that changes it back. A lock alone would not be enough, because nodes
// of a database cluster replicate changed rows but not locks. If transactions on two nodes change the same row, only
// one of them can commit.
const LOCK_USER: [&str; 2] = [
    "UPDATE users SET generation = generation + 1 WHERE id = ?",
    "UPDATE users SET generation = generation - 1 WHERE id = ?",
];

const LIST_WITHOUT_SKELETON: &str = "SELECT id, name FROM users WHERE name_skeleton IS NULL LIMIT ?";

/// The columns that decide whether a password sign-in succeeds.
#[derive(Debug, sqlx::FromRow)]
pub(crate) struct PasswordRow {
    pub(crate) id: UserId,
    pub(crate) password_hash: Option<String>,
    pub(crate) deactivated_at: Option<DateTime<Utc>>,
    pub(crate) deleted_at: Option<DateTime<Utc>>,
}

/// A row of `users`, without its secrets.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct UserRow {
    pub(crate) id: UserId,
    pub(crate) name: String,
    #[sqlx(try_from = "String")]
    pub(crate) role: UserRole,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) deactivated_at: Option<DateTime<Utc>>,
    pub(crate) deleted_at: Option<DateTime<Utc>>,
}

impl From<UserRow> for User {
    fn from(row: UserRow) -> Self {
        let UserRow { id, name, role, created_at, deactivated_at, deleted_at } = row;
        Self { id: id.0, name, role, created_at, deactivated_at, deleted_at }
    }
}

/// An account to create.
#[derive(Clone, Debug)]
pub(crate) struct NewUserRow {
    pub(crate) name: String,
    /// Hash of the password; `None` for a user who signs in only with an identity.
    pub(crate) password_hash: Option<String>,
    pub(crate) role: UserRole,
}

/// Returns `true` if there is an admin who can sign in: with a password, or with an identity of `issuer` if one is
/// given.
pub(crate) async fn has_admin(db: &Database, issuer: Option<&str>) -> sqlx::Result<bool> {
    let admins: i64 = db.reader().query(select!(COUNT_OTHER_ADMINS)).bind(NO_USER).bind(issuer).fetch_value().await?;
    Ok(admins > 0)
}

/// Returns `true` if there is an admin other than `than` who can sign in. Holds the local user first, so that
/// transactions that change who is an admin run one at a time.
pub(crate) async fn has_other_admin(
    tx: &mut Transaction,
    than: Option<UserId>,
    issuer: Option<&str>,
) -> sqlx::Result<bool> {
    lock_user(tx, UserId::LOCAL).await?;
    let than = than.unwrap_or(NO_USER);
    let admins: i64 = tx.query(COUNT_OTHER_ADMINS).bind(than).bind(issuer).fetch_value().await?;
    Ok(admins > 0)
}

/// Serializes transactions on a user: of several that hold the same user, only one proceeds at a time, on any nodes of
/// a database cluster. The user's row keeps its values.
pub async fn lock_user(tx: &mut Transaction, id: UserId) -> sqlx::Result<()> {
    for change in LOCK_USER {
        tx.query(change).bind(id).execute().await?;
    }
    Ok(())
}

/// Returns `true` if a user can sign in: with a password, or with an identity of `issuer` if one is given.
pub(crate) async fn has_way_in(tx: &mut Transaction, id: UserId, issuer: Option<&str>) -> sqlx::Result<bool> {
    // Identities of a previously configured issuer do not count, since users cannot sign in with them.
    let count: i64 = tx
        .query(
            "SELECT COUNT(*) FROM users WHERE id = ? AND (password_hash IS NOT NULL \
             OR id IN (SELECT user_id FROM identities WHERE issuer = ?))",
        )
        .bind(id)
        .bind(issuer)
        .fetch_value()
        .await?;
    Ok(count > 0)
}

pub(crate) async fn count(tx: &mut Transaction) -> sqlx::Result<i64> {
    tx.query("SELECT COUNT(*) FROM users").fetch_value().await
}

/// Returns `true` if another account's name looks like this one.
pub(crate) async fn has_alike(tx: &mut Transaction, name: &str) -> sqlx::Result<bool> {
    let skeleton = skeleton_of(name);
    let count: i64 = tx
        .query("SELECT COUNT(*) FROM users WHERE name_skeleton = ? AND name <> ?")
        .bind(&skeleton)
        .bind(name)
        .fetch_value()
        .await?;
    // Accounts of an older server version, for which `fill_skeletons` has not run yet.
    let rest: Vec<(UserId, String)> = tx.query(LIST_WITHOUT_SKELETON).bind(i64::MAX).fetch_all().await?;
    Ok(count > 0 || rest.iter().any(|(_, other)| other != name && skeleton_of(other) == skeleton))
}

/// Stores the skeletons of at most `limit` names that have none yet, and returns their number.
pub(crate) async fn fill_skeletons(db: &Database, limit: u32) -> sqlx::Result<usize> {
    let rows: Vec<(UserId, String)> = db.reader().query(select!(LIST_WITHOUT_SKELETON)).bind(limit).fetch_all().await?;
    for (id, name) in &rows {
        db.writer()
            .query("UPDATE users SET name_skeleton = ? WHERE id = ?")
            .bind(skeleton_of(name))
            .bind(id)
            .execute()
            .await?;
    }
    Ok(rows.len())
}

pub(crate) async fn find_password(db: &Database, name: &str) -> sqlx::Result<Option<PasswordRow>> {
    db.reader()
        .query(select!("SELECT id, password_hash, deactivated_at, deleted_at FROM users WHERE name = ?"))
        .bind(name)
        .fetch_optional()
        .await
}

/// Returns `true` if an account has a password.
pub(crate) async fn has_password(db: &Database, id: UserId) -> sqlx::Result<bool> {
    let count: i64 = db
        .reader()
        .query(select!("SELECT COUNT(*) FROM users WHERE id = ? AND password_hash IS NOT NULL"))
        .bind(id)
        .fetch_value()
        .await?;
    Ok(count > 0)
}

pub(crate) async fn find(db: &Database, id: UserId) -> sqlx::Result<Option<UserRow>> {
    db.reader().query(select!(FIND)).bind(id).fetch_optional().await
}

pub(crate) async fn find_in(tx: &mut Transaction, id: UserId) -> sqlx::Result<Option<UserRow>> {
    tx.query(FIND).bind(id).fetch_optional().await
}

pub(crate) async fn list(db: &Database, after: UserId, limit: u32) -> sqlx::Result<Vec<UserRow>> {
    db.reader()
        .query(select!(concat!("SELECT ", user_columns!(), " FROM users WHERE id > ? ORDER BY id LIMIT ?")))
        .bind(after)
        .bind(limit)
        .fetch_all()
        .await
}

/// Creates an account and returns its ID. A name that is taken causes a unique violation.
pub(crate) async fn create(tx: &mut Transaction, new: &NewUserRow) -> sqlx::Result<UserId> {
    let query = tx
        .query("INSERT INTO users (name, name_skeleton, password_hash, role, created_at) VALUES (?, ?, ?, ?, ?)")
        .bind(&new.name)
        .bind(skeleton_of(&new.name))
        .bind(&new.password_hash);
    let done = query.bind(new.role.as_str()).bind(now()).execute().await?;
    Ok(UserId(done.inserted_id))
}

/// Assigns the local user's row, with all its conversations, to the first admin. Returns `false` if the row is already
/// claimed.
pub(crate) async fn claim_local(tx: &mut Transaction, new: &NewUserRow) -> sqlx::Result<bool> {
    let query = tx
        .query(
            "UPDATE users SET name = ?, name_skeleton = ?, password_hash = ?, role = 'admin', deactivated_at = NULL, \
             generation = generation + 1 WHERE id = 1 AND password_hash IS NULL",
        )
        .bind(&new.name)
        .bind(skeleton_of(&new.name))
        .bind(&new.password_hash);
    let done = query.execute().await?;
    Ok(done.rows == 1)
}

pub(crate) async fn update(
    tx: &mut Transaction,
    id: UserId,
    role: UserRole,
    deactivated_at: Option<DateTime<Utc>>,
) -> sqlx::Result<()> {
    let query = tx
        .query("UPDATE users SET role = ?, deactivated_at = ?, generation = generation + 1 WHERE id = ?")
        .bind(role.as_str())
        .bind(deactivated_at)
        .bind(id);
    query.execute().await.map(|_| ())
}

pub(crate) async fn update_password(tx: &mut Transaction, id: UserId, hash: &str) -> sqlx::Result<()> {
    tx.query("UPDATE users SET password_hash = ?, generation = generation + 1 WHERE id = ?")
        .bind(hash)
        .bind(id)
        .execute()
        .await
        .map(|_| ())
}

/// Replaces an account's password hash. Returns `false` if `old` is no longer the stored hash.
pub(crate) async fn replace_password(tx: &mut Transaction, id: UserId, old: &str, new: &str) -> sqlx::Result<bool> {
    // Keeps the generation: permissions do not change, so the caller's streams stay open. Matches no row if the
    // password was changed in the meantime.
    let done = tx
        .query("UPDATE users SET password_hash = ? WHERE id = ? AND password_hash = ?")
        .bind(new)
        .bind(id)
        .bind(old)
        .execute()
        .await?;
    Ok(done.rows == 1)
}

/// Marks an account as deleted and deletes its instructions. Returns `false` if `hash` is no longer the stored password
/// hash, which is `None` for an account without a password.
pub(crate) async fn delete(tx: &mut Transaction, id: UserId, hash: Option<&str>) -> sqlx::Result<bool> {
    let time = now();
    let done = tx
        .query(
            "UPDATE users SET deactivated_at = ?, deleted_at = ?, instructions = NULL, \
             generation = generation + 1 WHERE id = ? AND COALESCE(password_hash, '') = ? AND deactivated_at IS NULL",
        )
        .bind(time)
        .bind(time)
        .bind(id)
        .bind(hash.unwrap_or_default())
        .execute()
        .await?;
    Ok(done.rows == 1)
}

/// Returns the user's instructions for all conversations; empty if there are none.
pub(crate) async fn find_instructions(db: &Database, id: UserId) -> sqlx::Result<String> {
    db.reader().query(select!("SELECT COALESCE(instructions, '') FROM users WHERE id = ?")).bind(id).fetch_value().await
}

pub(crate) async fn update_instructions(db: &Database, id: UserId, text: &str) -> sqlx::Result<()> {
    db.writer().query("UPDATE users SET instructions = ? WHERE id = ?").bind(text).bind(id).execute().await.map(|_| ())
}
