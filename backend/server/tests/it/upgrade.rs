//! An upgrade: the newest version migrates a database of the first version, which is full of messages, and serves it.

use std::fmt::Write as _;

use sqlx::{AssertSqlSafe, migrate::Migration};
use tallybook::consistency;
use tallybook_conversations::index_all_messages;
use tallybook_mock_llm::{MockLlm, text};
use tallybook_protocol::{Conversation, SearchPage};

use crate::support::{Engine, TestApp, rows};

const MYSQL: sqlx::migrate::Migrator = sqlx::migrate!("../../migrations/mysql");

const SQLITE: sqlx::migrate::Migrator = sqlx::migrate!("../../migrations/sqlite");

const MARKS: &str = "CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, description TEXT NOT NULL, \
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP, success BOOLEAN NOT NULL, checksum BLOB NOT NULL, \
    execution_time BIGINT NOT NULL)";

/// Number of messages, unless `UPGRADE_TEST_MESSAGES` sets another one. Jobs that process the calls in batches of 500
/// must have more than one batch. More messages would make each test run slower.
const MESSAGES: i64 = 4_000;

/// Number of messages in each conversation.
const IN_ONE: i64 = 200;

/// Number of rows that one statement inserts.
const AT_ONCE: i64 = 1000;

fn content(id: i64) -> String {
    format!("Message {id}: 0.1 and 0.2 are 0.3 計算 🙂. {}", "And so on. ".repeat(usize::try_from(id % 30).unwrap()))
}

fn uuid(conversation: i64) -> String {
    format!("00000000-0000-7000-8000-{conversation:012}")
}

/// Returns `true` for every fourth message, which is an answer with a call.
fn has_call(id: i64) -> bool {
    id % 4 == 0
}

/// Returns statements that insert the rows `1..=count` of a table, [`AT_ONCE`] in each statement.
fn inserts(table: &str, count: i64, row: impl Fn(i64) -> Option<String>) -> Vec<String> {
    let parts = (0..count).step_by(usize::try_from(AT_ONCE).unwrap());
    let statement = |from: i64| {
        let mut sql = format!("INSERT INTO {table} VALUES ");
        for row in (from + 1..=count.min(from + AT_ONCE)).filter_map(&row) {
            write!(sql, "({row}),").unwrap();
        }
        sql.pop();
        sql
    };
    parts.map(statement).collect()
}

/// Returns statements that insert everything the first version would have stored.
fn statements(messages: i64) -> Vec<String> {
    let at = "'2026-01-01 00:00:00'";
    let mut all = inserts(
        "conversations (id, uuid, user_id, title, head_message_id, created_at, updated_at)",
        messages / IN_ONE,
        |id| Some(format!("{id}, '{}', 1, 'Conversation {id}', {}, {at}, {at}", uuid(id), id * IN_ONE)),
    );
    all.extend(inserts(
        "messages (id, conversation_id, parent_id, role, content, status, created_at, completed_at)",
        messages,
        |id| {
            let place = (id - 1) % IN_ONE;
            let parent = if place == 0 { "NULL".to_owned() } else { (id - 1).to_string() };
            let role = if place % 2 == 0 { "user" } else { "assistant" };
            let conversation = (id - 1) / IN_ONE + 1;
            Some(format!("{id}, {conversation}, {parent}, '{role}', '{}', 'complete', {at}, {at}", content(id)))
        },
    ));
    all.extend(inserts(
        "tool_calls (message_id, tool_call_id, tool_name, input, input_text, output, status, step, position, text_offset, \
         started_at, completed_at, duration_ms)",
        messages,
        |id| {
            let call = format!(r#"'call_{id}', 'add', '{{"a":{id},"b":1}}', '{{"a":{id},"b":1}}', '{}'"#, id + 1);
            has_call(id).then(|| format!("{id}, {call}, 'success', 0, 0, 0, {at}, {at}, 3"))
        },
    ));
    all.extend(inserts(
        "model_calls (message_id, step, provider, model, duration_ms, blocks, created_at)",
        messages,
        |id| (id % 2 == 0).then(|| format!("{id}, 0, 'Anthropic', 'old-model', 5, '[]', {at}")),
    ));
    all
}

/// Creates the tables of the first version and fills them.
async fn fill(engine: &Engine, messages: i64) {
    let migrator = if engine.is_sqlite() { SQLITE } else { MYSQL };
    let first: &Migration = migrator.iter().next().unwrap();
    let mark = "INSERT INTO _sqlx_migrations (version, description, success, checksum, execution_time) \
        VALUES (?, 'first', TRUE, ?, 1)";
    let (version, checksum, sql) = (first.version, first.checksum.to_vec(), first.sql.as_str().to_owned());
    if engine.is_sqlite() {
        let file = engine.url.strip_prefix("sqlite://").unwrap();
        std::fs::create_dir_all(std::path::Path::new(file).parent().unwrap()).unwrap();
        let pool = sqlx::SqlitePool::connect(&format!("{}?mode=rwc", engine.url)).await.unwrap();
        let mut tx = pool.begin().await.unwrap();
        for statement in [MARKS.to_owned(), sql].into_iter().chain(statements(messages)) {
            sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut *tx).await.unwrap();
        }
        sqlx::query(mark).bind(version).bind(checksum).execute(&mut *tx).await.unwrap();
        tx.commit().await.unwrap();
        pool.close().await;
    } else {
        let pool = sqlx::MySqlPool::connect(&engine.url).await.unwrap();
        let mut connection = pool.acquire().await.unwrap();
        for statement in
            [MARKS.to_owned(), sql, "SET autocommit = 0".to_owned()].into_iter().chain(statements(messages))
        {
            sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut *connection).await.unwrap();
        }
        sqlx::query(mark).bind(version).bind(checksum).execute(&mut *connection).await.unwrap();
        sqlx::raw_sql("COMMIT").execute(&mut *connection).await.unwrap();
        drop(connection);
        pool.close().await;
    }
}

async fn shown(app: &TestApp, path: &str) -> Conversation {
    app.get(path).await.error_for_status().unwrap().json().await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_database_of_the_first_version_is_migrated_and_served() {
    upgrade(Engine::sqlite()).await;
    for empty in Engine::every_mysql().await {
        upgrade(empty).await;
    }
}

async fn upgrade(engine: Engine) {
    let messages = std::env::var("UPGRADE_TEST_MESSAGES").map_or(MESSAGES, |count| count.parse().unwrap());
    fill(&engine, messages).await;
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&engine, &model).await;

    // Every text is unchanged, and still has its place.
    let stored = rows!(
        app,
        (i64, i64, Option<i64>, String),
        "SELECT id, conversation_id, parent_id, content FROM messages ORDER BY id"
    );
    assert_eq!(stored.len(), usize::try_from(messages).unwrap());
    for (expected, (id, conversation, parent, text)) in (1..).zip(stored) {
        let first = (id - 1) % IN_ONE == 0;
        assert_eq!((id, conversation, parent), (expected, (id - 1) / IN_ONE + 1, (!first).then_some(id - 1)));
        assert_eq!(text, content(id));
    }
    assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM tool_calls"), [(messages / 4,)]);
    assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM model_calls WHERE purpose = 'answer'"), [(messages / 2,)]);
    assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM tool_history"), [(messages / 4,)]);

    // The API also returns everything unchanged.
    for conversation in [1, messages / IN_ONE] {
        let here = format!("/api/conversations/{}", uuid(conversation));
        let whole = shown(&app, &here).await;
        let first = (conversation - 1) * IN_ONE + 1;
        let rows: Vec<(i64, String)> =
            whole.messages.iter().map(|message| (message.id.0, message.content.clone())).collect();
        assert_eq!(rows, (first..first + IN_ONE).map(|id| (id, content(id))).collect::<Vec<_>>());
        let calls: Vec<(i64, String)> = whole
            .messages
            .iter()
            .flat_map(|message| message.tool_calls.iter().map(|call| (message.id.0, call.output.clone().unwrap())))
            .collect();
        let with_calls = (first..first + IN_ONE).filter(|id| has_call(*id));
        assert_eq!(calls, with_calls.map(|id| (id, (id + 1).to_string())).collect::<Vec<_>>());
        assert_eq!(whole.messages[1].model.as_deref(), Some("old-model"));
        assert_eq!(shown(&app, &format!("{here}?limit=50")).await.messages.len(), 50);
    }

    // The search finds the texts before and after they are in its index.
    let search = format!("/api/search?query=%22Message%20{}:%22", messages - 1);
    for _ in 0..2 {
        let found: SearchPage = serde_json::from_value(app.get_json(&search).await).unwrap();
        assert_eq!(found.items.iter().map(|hit| hit.message_id.unwrap().0).collect::<Vec<_>>(), [messages - 1]);
        index_all_messages(&app.database().await).await.unwrap();
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM search_messages"), [(messages,)]);
    }

    // The conversation accepts a new message.
    model.reply([text("It does.")]);
    app.send(&uuid(1), "Does it continue?").await.all().await;
    let whole = shown(&app, &format!("/api/conversations/{}", uuid(1))).await;
    assert_eq!(whole.messages.last().unwrap().content, "It does.");
    assert_eq!(consistency::check(&app.database().await).await.unwrap(), [""; 0]);
}
