//! Classification of the errors of real databases: transient, storage full, permanent.

use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection, MySqlPool, SqlitePool};
use tallybook_database::{FailureKind, classify};

use crate::support::Engine;

const SQLITE: [(&str, FailureKind); 7] = [
    ("INSERT INTO users SELECT * FROM users", FailureKind::Permanent),
    ("INSERT INTO sessions VALUES (1, 'x', 77, '', '')", FailureKind::Permanent),
    ("SELECT * FROM nowhere", FailureKind::Permanent),
    (
        "CREATE TRIGGER refuses BEFORE INSERT ON sessions BEGIN SELECT RAISE(ABORT, 'no'); END; \
         INSERT INTO sessions VALUES (1, 'x', 1, '', '')",
        FailureKind::Permanent,
    ),
    ("SELECT zeroblob(2000000000)", FailureKind::Permanent),
    ("PRAGMA query_only = 1; DELETE FROM sessions", FailureKind::StorageFull),
    (
        "PRAGMA query_only = 0; PRAGMA max_page_count = 1; CREATE TABLE x AS SELECT zeroblob(1000000)",
        FailureKind::StorageFull,
    ),
];

const MYSQL: [(&str, FailureKind); 7] = [
    ("INSERT INTO users SELECT * FROM users", FailureKind::Permanent),
    ("UPDATE conversations SET title = REPEAT('x', 201)", FailureKind::Permanent),
    ("UPDATE tool_calls SET input = '{'", FailureKind::Permanent),
    ("SELECT * FROM nowhere", FailureKind::Permanent),
    ("SIGNAL SQLSTATE '45000'", FailureKind::Permanent),
    ("START TRANSACTION READ ONLY; DELETE FROM sessions", FailureKind::StorageFull),
    ("ROLLBACK; KILL QUERY CONNECTION_ID()", FailureKind::Transient),
];

async fn sqlite(engine: &Engine) -> SqlitePool {
    engine.pool().await.sqlite()
}

async fn mysql(engine: &Engine) -> MySqlPool {
    engine.pool().await.mysql()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sqlite_errors_are_classified() {
    let engine = Engine::sqlite();
    let pool = sqlite(&engine).await;
    let mut connection = pool.acquire().await.unwrap();
    for (sql, failure) in SQLITE {
        let error = sqlx::raw_sql(sql).execute(&mut *connection).await.unwrap_err();
        assert_eq!(classify(&error), failure, "{sql}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_database_is_transient() {
    let engine = Engine::sqlite();
    let pool = sqlite(&engine).await;
    // The pool has one connection, which is the writer.
    let mut other = pool.connect_options().connect().await.unwrap();
    sqlx::raw_sql("PRAGMA busy_timeout = 0").execute(&mut other).await.unwrap();
    let _held = pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let error = other.begin_with("BEGIN IMMEDIATE").await.unwrap_err();
    assert_eq!(classify(&error), FailureKind::Transient, "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mysql_errors_are_classified() {
    for engine in Engine::every_mysql_with_tables().await {
        let pool = mysql(&engine).await;
        // Rows for the statements that must fail.
        sqlx::raw_sql(
            "INSERT INTO conversations (id, uuid, user_id, title, created_at, updated_at) \
                 VALUES (1, 'u', 1, 't', NOW(6), NOW(6)); \
             INSERT INTO messages (id, conversation_id, role, content, status, created_at) \
                 VALUES (1, 1, 'assistant', '', 'complete', NOW(6)); \
             INSERT INTO tool_calls (message_id, tool_call_id, tool_name, input, input_text, step, position, text_offset, \
                 started_at) VALUES (1, '', '', '{}', '{}', 0, 0, 0, NOW(6))",
        )
        .execute(&pool)
        .await
        .unwrap();
        let mut connection = pool.acquire().await.unwrap();
        for (sql, failure) in MYSQL {
            let error = sqlx::raw_sql(sql).execute(&mut *connection).await.unwrap_err();
            assert_eq!(classify(&error), failure, "{sql}: {error}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_row_and_a_killed_connection_are_transient() {
    for engine in Engine::every_mysql_with_tables().await {
        let pool = mysql(&engine).await;
        let mut other = pool.acquire().await.unwrap();
        sqlx::raw_sql("SET SESSION innodb_lock_wait_timeout = 1").execute(&mut *other).await.unwrap();
        let mut held = pool.begin().await.unwrap();
        let update = "UPDATE users SET name = 'x' WHERE id = 1";
        sqlx::query(update).execute(&mut *held).await.unwrap();
        let error = sqlx::query(update).execute(&mut *other).await.unwrap_err();
        assert_eq!(classify(&error), FailureKind::Transient, "{error}");
        let id: u64 = sqlx::query_scalar("SELECT CONNECTION_ID()").fetch_one(&mut *held).await.unwrap();
        sqlx::raw_sql(AssertSqlSafe(format!("KILL {id}"))).execute(&mut *other).await.unwrap();
        let error = sqlx::query(update).execute(&mut *held).await.unwrap_err();
        assert_eq!(classify(&error), FailureKind::Transient, "{error}");
    }
}

/// If two transactions wait for each other, the database rolls one of them back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadlock_is_transient() {
    for engine in Engine::every_mysql_with_tables().await {
        let pool = mysql(&engine).await;
        sqlx::raw_sql("INSERT INTO users (id, name, created_at) VALUES (2, 'other', NOW(6))")
            .execute(&pool)
            .await
            .unwrap();
        let lock = |id: i64| sqlx::query("SELECT id FROM users WHERE id = ? FOR UPDATE").bind(id);
        let (mut one, mut two) = (pool.begin().await.unwrap(), pool.begin().await.unwrap());
        lock(1).execute(&mut *one).await.unwrap();
        lock(2).execute(&mut *two).await.unwrap();
        let both = tokio::join!(async { lock(2).execute(&mut *one).await }, async {
            let outcome = lock(1).execute(&mut *two).await;
            // If the database did not roll back `two`, then `one` can continue after this.
            two.rollback().await.unwrap();
            outcome
        });
        let error = both.0.and(both.1).unwrap_err();
        assert_eq!(classify(&error), FailureKind::Transient, "{error}");
    }
}

/// A server that receives too large a packet sends an error and closes the connection. A client that is still sending
/// may see the error or only the closed connection, depending on timing. So the program can query the limit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_maximum_statement_size_is_known() {
    for engine in Engine::every_mysql_with_tables().await {
        let db = engine.database().await;
        let limit = db.begin().await.unwrap().max_statement_bytes().await.unwrap();
        let limit = usize::try_from(limit).unwrap();
        let pool = mysql(&engine).await;
        let send = async |bytes| sqlx::query("SELECT LENGTH(?)").bind("x".repeat(bytes)).execute(&pool).await;
        send(limit - 1024).await.unwrap();
        let error = send(limit).await.unwrap_err();
        let is_from_database = error.as_database_error().is_some();
        assert_eq!(
            classify(&error),
            if is_from_database { FailureKind::Permanent } else { FailureKind::Transient },
            "{error}"
        );
        pool.acquire().await.unwrap().ping().await.unwrap();
    }
}
