//! Retention: deleted conversations are purged after the retention period, whichever process does it and however large
//! they are. `accounts::deletion` tests what users see of their deleted data.

use std::{fs, path::Path, time::Duration};

use sqlx::AssertSqlSafe;
use tallybook_mock_llm::{MockLlm, hang, text, tool_call};

use crate::{
    operator_commands::{admin, said},
    support::{Engine, Pool, TestApp, eventually, execute, on_every_engine, rows},
};

/// Counts the rows in the tables that a conversation fills.
const LEFT: &str = "SELECT (SELECT COUNT(*) FROM conversations) + (SELECT COUNT(*) FROM messages) \
    + (SELECT COUNT(*) FROM tool_calls) + (SELECT COUNT(*) FROM model_calls) + (SELECT COUNT(*) FROM journal_events) \
    + (SELECT COUNT(*) FROM reasonings) + (SELECT COUNT(*) FROM plans) + (SELECT COUNT(*) FROM plan_steps) \
    + (SELECT COUNT(*) FROM shares) + (SELECT COUNT(*) FROM tool_reruns) \
    + (SELECT COUNT(*) FROM conversation_summaries) + (SELECT COUNT(*) FROM copied_tool_calls) \
    + (SELECT COUNT(*) FROM copied_model_calls) + (SELECT COUNT(*) FROM search_blocks) \
    + (SELECT COUNT(*) FROM search_messages) + (SELECT COUNT(*) FROM search_bits)";

const SUMMARY: &str = "INSERT INTO conversation_summaries (conversation_id, message_id, summary, model, created_at) \
    SELECT conversation_id, id, 'They add.', 'm', created_at FROM messages WHERE role = 'assistant'";

const PLAN: &str = "INSERT INTO plans (message_id, revision, success_criteria, text_offset, created_at) \
    SELECT id, 1, '', 0, created_at FROM messages WHERE role = 'assistant'";

const PLAN_STEP: &str = "INSERT INTO plan_steps (plan_id, revision, position, instruction, expected, status, attempt) \
    SELECT id, 1, 0, 'Add.', '', 'pending', 0 FROM plans";

const RERUN: &str = "INSERT INTO tool_reruns (tool_call_id, user_id, input_text, status, created_at) \
    SELECT id, 1, '{}', 'pending', started_at FROM tool_calls";

/// Starts a server that keeps deleted conversations for this long.
async fn start(engine: &Engine, model: &MockLlm, kept_for: Duration) -> TestApp {
    let tools = tallybook_tools::builtin().unwrap();
    TestApp::builder(engine)
        .with_mock(model)
        .with_tools(tools)
        .with_settings(|settings| settings.retention_days = kept_for.as_secs_f64() / 86_400.0)
        .spawn()
        .await
}

async fn ask(app: &TestApp, model: &MockLlm) -> String {
    let conversation = app.create_conversation().await;
    model.reply([tool_call("add", r#"{"a":1,"b":2}"#)]);
    model.reply([text("It is 3.")]);
    app.send(&conversation, "1 + 2?").await.all().await;
    conversation
}

/// Creates a deleted conversation that takes many parts to purge, directly in the database.
async fn write_large(db: &Pool) {
    let mut sql = vec![
        "INSERT INTO conversations (id, uuid, user_id, title, created_at, updated_at, deleted_at) VALUES \
         (7, '00000000-0000-4000-8000-000000000007', 1, 'Large', '2026-01-01 00:00:00', '2026-01-01 00:00:00', \
         '2026-01-01 00:00:00')"
            .to_owned(),
    ];
    for id in 1..=120 {
        sql.push(format!(
            "INSERT INTO messages (id, conversation_id, role, content, status, created_at) \
             VALUES ({id}, 7, 'assistant', 'x', 'complete', '2026-01-01 00:00:00')"
        ));
        sql.push(format!(
            "INSERT INTO tool_calls (message_id, tool_call_id, tool_name, input, input_text, status, step, position, \
             text_offset, started_at) VALUES ({id}, 'a', 'add', '{{}}', '{{}}', 'success', 0, 0, 0, '2026-01-01 \
             00:00:00')"
        ));
        let events: Vec<String> =
            (0..10).map(|seq| format!("({id}, 1, {seq}, 'content_delta', '{{}}', '2026-01-01 00:00:00')")).collect();
        let insert = "INSERT INTO journal_events (message_id, epoch, seq, event, data, created_at) VALUES";
        sql.push(format!("{insert} {}", events.join(", ")));
    }
    for statement in sql {
        match db {
            Pool::MySql(pool) => drop(sqlx::query(AssertSqlSafe(statement)).execute(pool).await.unwrap()),
            Pool::Sqlite(pool) => drop(sqlx::query(AssertSqlSafe(statement)).execute(pool).await.unwrap()),
        }
    }
}

on_every_engine! {
    async fn without_a_retention_period_deleted_conversations_are_purged_at_once(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = start(&engine, &model, Duration::ZERO).await;
        let conversation = ask(&app, &model).await;
        app.post(&format!("/api/conversations/{conversation}/shares"), serde_json::json!({})).await;
        execute!(app, RERUN);
        execute!(app, SUMMARY);
        execute!(app, PLAN);
        execute!(app, PLAN_STEP);
        app.delete(&conversation).await;
        eventually("everything is purged", async || rows!(app, (i64,), LEFT) == [(0,)]).await;

        // A running turn is stopped first.
        let conversation = app.create_conversation().await;
        model.reply([text("Never "), hang()]);
        let mut turn = app.send(&conversation, "Go").await;
        turn.until("content_delta").await;
        app.delete(&conversation).await;
        while turn.next().await.is_some() {}
        eventually("everything is purged", async || rows!(app, (i64,), LEFT) == [(0,)]).await;
    }

    /// Two servers and a command purge at once. One of the conversations takes many parts to purge. Conversations that
    /// are not deleted, or not for long enough, stay.
    async fn concurrent_purges_delete_everything_due_and_nothing_else(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        // This server keeps deleted conversations for so long that none is due.
        let first = start(&engine, &model, Duration::from_hours(24 * 3650)).await;
        write_large(&engine.pool().await).await;
        let (due, kept) = (ask(&first, &model).await, ask(&first, &model).await);
        ask(&first, &model).await;
        first.delete(&due).await;
        first.delete(&kept).await;
        first.shut_down().await;
        execute!(engine, AssertSqlSafe(format!("UPDATE conversations SET deleted_at = '2026-02-01 00:00:00' WHERE uuid = '{due}'")));
        let (is_done, words) = said(&admin(&engine, &model, &["retention"]));
        assert!(is_done && words.contains("deleted conversations: 3; the oldest was deleted on 2026-01-01."), "{words}");
        assert!(words.contains("due for purging: 2, with 121 tool calls. A running server"), "{words}");

        let command = {
            let (engine, model) = (engine.clone(), MockLlm::start().await.unwrap());
            tokio::task::spawn_blocking(move || said(&admin(&engine, &model, &["retention", "--purge"])))
        };
        let one = start(&engine, &model, Duration::from_hours(24)).await;
        // An SQLite database has only one server.
        let two = if engine.is_sqlite() { None } else { Some(start(&engine, &model, Duration::from_hours(24)).await) };
        eventually("what is due is purged", async || rows!(one, (i64,), "SELECT COUNT(*) FROM conversations") == [(2,)])
            .await;
        let (is_done, words) = command.await.unwrap();
        assert!(is_done && words.contains("due for purging: 0,"), "{words}");
        let left = rows!(one, (i64, i64), "SELECT (SELECT COUNT(*) FROM messages), (SELECT COUNT(*) FROM tool_calls)");
        assert_eq!(left, [(4, 2)]);
        drop(two);
    }

    /// The process that deleted the conversation died halfway, or the turn started to wait at that moment.
    async fn a_waiting_turn_of_a_deleted_conversation_is_ended(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = start(&engine, &model, Duration::from_hours(24)).await;
        let deleted = ask(&app, &model).await;
        ask(&app, &model).await;
        let ended = "UPDATE messages SET status = 'awaiting_approval', completed_at = NULL WHERE role = 'assistant'";
        execute!(app, "UPDATE conversations SET active_message_id = head_message_id");
        // The conversation is deleted first, so that the server does not find the turn waiting before that.
        execute!(app, AssertSqlSafe(format!("UPDATE conversations SET deleted_at = created_at WHERE uuid = '{deleted}'")));
        execute!(app, ended);
        let statuses = async || rows!(app, (String,), "SELECT status FROM messages WHERE role = 'assistant' ORDER BY id");
        eventually("the turn of the deleted conversation has ended", async || statuses().await[0].0 == "stopped").await;
        let claims = rows!(app, (Option<i64>,), "SELECT active_message_id FROM conversations ORDER BY id");
        assert_eq!(claims[0], (None,));
    }
}

/// Returns `true` if the files of an embedded database contain a text, in rows or in the remains of rows.
fn is_in_files(engine: &Engine, text: &str) -> bool {
    let file = engine.url.strip_prefix("sqlite://").unwrap();
    ["", "-wal"].iter().any(|end| {
        let bytes = fs::read(format!("{file}{end}")).unwrap_or_default();
        bytes.windows(text.len()).any(|window| window == text.as_bytes())
    })
}

/// Tests short and long texts of messages, calls, events and titles, while the server runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn purged_texts_are_gone_from_the_files() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let app = start(&engine, &model, Duration::ZERO).await;
    let secret = "xyzzy-plugh-4711";
    ask(&app, &model).await;
    let conversation = app.create_conversation().await;
    let long = format!("{secret} ").repeat(2000);
    model.reply([tool_call("evaluate", serde_json::json!({"expression": long}).to_string())]);
    model.reply([text("So: "), text(&long)]);
    app.send(&conversation, secret).await.all().await;
    assert!(is_in_files(&engine, secret));
    app.delete(&conversation).await;
    eventually("the files no longer contain the text", async || !is_in_files(&engine, secret)).await;
    assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM conversations"), [(1,)]);
}

/// Functions and constants of the store with statements that need not contain `deleted_at`, and the reason.
const EXEMPT: [(&str, &[&str]); 6] = [
    ("deleting a conversation gives no budget back", &["budgets::of_users"]),
    (
        "the row was found or claimed before",
        &[
            "conversations::is_waiting",
            "conversations::find_title",
            "conversations::replace_title",
            "conversations::find_claim",
            "conversations::list_claimed",
            "turns::begin_turn",
            "turns::end_turn",
            "turns::RELEASE",
            "summaries::release",
            "retention::delete_part",
            "turn_settings::find_turn_settings",
            "turn_settings::FIND",
            "turn_settings::lock_disabled_tools",
            "turn_settings::set_disabled_tools",
        ],
    ),
    ("usage still counts after a conversation is deleted", &["usage::COUNT", "usage::list_by_purpose"]),
    (
        "an erasure includes deleted conversations",
        &["erasure::find_conversation", "erasure::request_stops", "erasure::count_running"],
    ),
    ("all abandoned turns are closed", &["turns::list_abandoned_turns"]),
    (
        "the condition is appended to the statement, which `accounts::deletion` tests",
        &["search::list_hits", "search::OF_MESSAGES", "search::of_calls"],
    ),
];

/// Returns the string literals of a source file, each with the function, constant or macro that contains it.
fn literals(source: &str) -> Vec<(String, String)> {
    let mut item = String::new();
    let mut found = Vec::new();
    let mut open: Option<String> = None;
    for line in source.lines() {
        if open.is_none() {
            let code = line.split("//").next().unwrap_or_default();
            let mut words = code.split_whitespace().peekable();
            while let Some(word) = words.next() {
                if let ("fn" | "const" | "macro_rules!", Some(name)) = (word, words.peek())
                    && *name != "fn"
                {
                    name.split([':', '(', '<']).next().unwrap_or_default().clone_into(&mut item);
                }
            }
        }
        for (index, part) in line.split('"').enumerate() {
            if index > 0 {
                match open.take() {
                    Some(text) => found.push((item.clone(), text)),
                    None => open = Some(String::new()),
                }
            }
            if let Some(text) = &mut open {
                text.push_str(part.trim_end_matches('\\').trim_start());
                text.push(' ');
            }
        }
    }
    found
}

/// Every statement of the store that reads or changes conversations leaves out deleted ones, or is exempt.
#[test]
fn every_statement_leaves_out_deleted_conversations() {
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conversations/src/store");
    let exempt: Vec<&str> = EXEMPT.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    let mut unused = exempt.clone();
    let (mut minding, mut forgetting) = (0, Vec::new());
    for entry in fs::read_dir(store).unwrap() {
        let path = entry.unwrap().path();
        let module = path.file_stem().unwrap().to_str().unwrap().to_owned();
        for (item, statement) in literals(&fs::read_to_string(&path).unwrap()) {
            let words: Vec<&str> = statement.split_whitespace().collect();
            let is_about = |pair: &[&str]| {
                ["FROM", "JOIN", "UPDATE"].iter().any(|verb| pair[0].ends_with(verb))
                    && pair[1].trim_end_matches([')', ';']) == "conversations"
            };
            if !words.windows(2).any(is_about) {
                continue;
            }
            let name = format!("{module}::{item}");
            if statement.contains("deleted_at") {
                minding += 1;
            } else {
                if !exempt.contains(&&*name) {
                    forgetting.push(format!("{name}: {statement}"));
                }
                unused.retain(|other| *other != name);
            }
        }
    }
    assert!(minding > 15, "{minding}");
    assert_eq!(forgetting, [""; 0], "these do not leave out deleted conversations");
    assert_eq!(unused, [""; 0], "these no longer exist, or leave out deleted conversations now");
}
