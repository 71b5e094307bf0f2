//! What an admin finds in the database.

use tallybook_mock_llm::{MockLlm, text, tool_call};

use crate::support::{Engine, TestApp, on_every_engine, rows};

/// Tool, status, input, output, conversation, its title, its user.
type Row = (String, String, String, Option<String>, String, String, String);

on_every_engine! {
    /// The view shows one call a row, with what surrounds it, also while its step has not ended.
    async fn the_tool_history_is_one_select(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([tool_call("subtract", r#"{"a":10,"b":"3.5"}"#)]);
        model.reply([text("6.5")]);
        app.send(&conversation, "10 minus 3.5").await.all().await;
        let history = rows!(app, Row,
            "SELECT tool_name, status, input, output, conversation_uuid, conversation_title, user_name FROM tool_history");
        let expected = ("subtract", "success", r#"{"a":10,"b":"3.5"}"#, Some("6.5"), "10 minus 3.5", "local");
        let row = &history[0];
        assert_eq!((&*row.0, &*row.1, &*row.2, row.3.as_deref(), &*row.5, &*row.6), expected);
        assert_eq!(row.4, conversation);
    }

    /// The stored journal holds the turn: its text joined, its calls, its end.
    async fn the_journal_holds_the_turn(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text("One two three four five. "), tool_call("add", r#"{"a":1,"b":2}"#)]);
        model.reply([text("Three.")]);
        app.send(&conversation, "1 + 2").await.all().await;
        let journal = rows!(app, (String, String), "SELECT event, data FROM journal_events ORDER BY seq");
        let events: Vec<&str> = journal.iter().map(|row| row.0.as_str()).collect();
        let expected =
            ["message_start", "content_delta", "tool_call_start", "tool_call_end", "content_delta", "message_end"];
        assert_eq!(events, expected);
        assert_eq!(journal[1].1, r#"{"offset":0,"delta":"One two three four five. "}"#);
        assert_eq!(journal[4].1, r#"{"offset":25,"delta":"Three."}"#);
    }
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_embedded_database_is_one_file_in_wal_mode() {
    let engine = Engine::sqlite();
    assert!(engine.is_sqlite());
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&engine, &model).await;
    app.create_conversation().await;
    let mode = match app.database().await {
        tallybook::db::Database::Sqlite(pool) => {
            sqlx::query_scalar::<_, String>("PRAGMA journal_mode").fetch_one(&pool).await.unwrap()
        }
        tallybook::db::Database::MySql(_) => unreachable!("the engine is SQLite"),
    };
    assert_eq!(mode, "wal");
}
