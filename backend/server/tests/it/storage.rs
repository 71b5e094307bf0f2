//! The stored data, as an admin finds it in the database.

use sqlx::AssertSqlSafe;
use tallybook_mock_llm::{MockLlm, text, thinking, tool_call};
use tallybook_protocol::ChatEvent;

use crate::support::{Engine, Program, TestApp, eventually, execute, names, on_every_engine, rows};

/// Columns of a call: tool, status, input, output, conversation, its title, its user.
type Row = (String, String, String, Option<String>, String, String, String);

on_every_engine! {
    /// The view shows one call per row, with its context, even while the call's step has not ended.
    async fn the_tool_history_view_has_one_row_per_call(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([tool_call("subtract", r#"{"a":10,"b":"3.5"}"#)]);
        model.reply([text("6.5")]);
        app.send(&conversation, "10 minus 3.5").await.all().await;
        let history = rows!(app, Row,
            "SELECT tool_name, status, input, output, conversation_uuid, conversation_title, user_name FROM \
             tool_history");
        let expected = ("subtract", "success", r#"{"a":10,"b":"3.5"}"#, Some("6.5"), "10 minus 3.5", "local");
        let row = &history[0];
        assert_eq!((&*row.0, &*row.1, &*row.2, row.3.as_deref(), &*row.5, &*row.6), expected);
        assert_eq!(row.4, conversation);
    }

    /// SQLite's functions end a text at a NUL byte, so the text after it could be neither read nor found.
    async fn a_nul_byte_does_not_truncate_text(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([thinking("Hm\0m.", "c2ln"), text("alpha\0omega")]);
        app.send(&conversation, "Which letters?").await.all().await;
        let answer = app.conversation(&conversation).await["messages"][1].clone();
        assert_eq!((&answer["content"], &answer["reasoning"][0]["text"]), (&"alpha\u{fffd}omega".into(), &"Hm\u{fffd}m.".into()));
        let found = app.get_json("/api/search?query=omega").await;
        assert_eq!(found["items"].as_array().map(Vec::len), Some(1), "{found}");
    }

    /// The stored journal contains the turn: its text, in a number of pieces that depends on time, its calls, and its
    /// end.
    async fn the_journal_contains_the_turn(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text("One two three four five. "), tool_call("add", r#"{"a":1,"b":2}"#)]);
        model.reply([text("Three.")]);
        app.send(&conversation, "1 + 2").await.all().await;
        let journal = rows!(app, (String, String), "SELECT event, data FROM journal_events ORDER BY seq");
        let events: Vec<_> = journal.iter().map(|(event, data)| ChatEvent::parse(event, data).unwrap()).collect();
        let expected =
            ["message_start", "content_delta", "tool_call_start", "tool_call_end", "content_delta", "message_end"];
        assert_eq!(names(&events), expected);
        let mut texts = [String::new(), String::new()];
        let mut step = 0;
        for event in &events {
            match event {
                ChatEvent::ContentDelta(delta) => {
                    assert_eq!(usize::try_from(delta.offset).unwrap(), texts.concat().len());
                    texts[step].push_str(&delta.delta);
                }
                ChatEvent::ToolCallEnd(_) => step = 1,
                _ => {}
            }
        }
        assert_eq!(texts, ["One two three four five. ", "\n\nThree."]);
    }

    /// The events of a finished turn are purged after the configured time. The conversation stays, and so does the
    /// journal of a later turn.
    async fn old_journals_are_purged(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let (old, new) = (app.create_conversation().await, app.create_conversation().await);
        for (conversation, answer) in [(&old, "Old."), (&new, "New.")] {
            model.reply([text(answer)]);
            app.send(conversation, "Say").await.all().await;
        }
        let answer_of = async |conversation: &str| app.conversation(conversation).await["messages"][1]["id"].as_i64().unwrap();
        let (old_answer, new_answer) = (answer_of(&old).await, answer_of(&new).await);
        app.shut_down().await;
        execute!(engine, AssertSqlSafe(format!("UPDATE messages SET completed_at = '2020-01-01 00:00:00' WHERE id <= {old_answer}")));
        execute!(engine, AssertSqlSafe(format!("UPDATE journal_events SET created_at = '2020-01-01 00:00:00' WHERE message_id = {old_answer}")));
        let app = TestApp::spawn(&engine, &model).await;
        let turns = async || rows!(engine, (i64,), "SELECT DISTINCT message_id FROM journal_events ORDER BY message_id");
        eventually("the old turn's journal is gone", async || turns().await == [(new_answer,)]).await;
        assert_eq!(app.conversation(&old).await["messages"][1]["content"], "Old.");
        assert_eq!(app.follow(&new, Some(&format!("{new_answer}.1.0"))).await.all().await.len(), 1, "the stored events are sent");
    }
}

/// A second start on the same file is refused with a readable error and harms nothing. A start works again when the
/// first process is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_embedded_database_has_only_one_process() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let first = TestApp::launch(&engine, &model);
    let conversation = first.create_conversation().await;
    let gate = model.reply_gated([text("Still ")], [text("here.")]);
    let mut turn = first.send(&conversation, "Go").await;
    turn.until("content_delta").await;
    let second = Program::command(&engine, &model).output().unwrap();
    let said = String::from_utf8(second.stderr).unwrap();
    assert!(!second.status.success(), "{said}");
    assert!(
        said.contains("Tallybook process uses") && said.contains("tallybook.db") && said.contains("DATABASE_URL"),
        "{said}"
    );
    gate.open();
    let end = turn.until("message_end").await.event;
    assert!(matches!(end, ChatEvent::MessageEnd(end) if end.content == "Still here."));
    first.kill();
    let third = TestApp::launch(&engine, &model);
    assert_eq!(third.conversation(&conversation).await["messages"][1]["status"], "complete");
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_embedded_database_is_one_file_in_wal_mode() {
    let engine = Engine::sqlite();
    assert!(engine.is_sqlite());
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&engine, &model).await;
    app.create_conversation().await;
    let pool = app.pool().await.sqlite();
    let mode: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(&pool).await.unwrap();
    assert_eq!(mode, "wal");
}

/// An admin who reads the tool history may use an older SQLite than the one that is built in.
#[tokio::test]
async fn the_view_works_with_an_older_sqlite() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let app = TestApp::spawn(&engine, &model).await;
    let views = rows!(app, (String,), "SELECT sql FROM sqlite_master WHERE type = 'view'");
    assert!(!views.is_empty() && views.iter().all(|(sql,)| !sql.contains("OCTET_LENGTH")), "{views:?}");
}
