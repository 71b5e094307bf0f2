//! Failures of the model, a tool or the server: the error is clear, the turn is stored, and the next message works.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use reqwest::StatusCode;
use serde_json::{Value, json};
use tallybook_llm::{ModelSettings, RetryPolicy};
use tallybook_mock_llm::{MockLlm, cut, fault, hang, text, tool_call};
use tallybook_protocol::{ChatEvent, MessageStatus, ToolCallStatus};
use tallybook_tools::{Tool, ToolError, ToolOutput, ToolRegistry};

use crate::support::{
    Engine, Hangs, NoArgs, Panics, Pool, Provider, TestApp, UNREACHABLE, eventually, execute, on_every_engine, rows,
};

/// A tool that blocks its thread, ignores everything else, and sets `holds`. It continues when the test sends to `held`
/// or drops the sender.
struct HoldsItsThread {
    held: Mutex<mpsc::Receiver<()>>,
    holds: Arc<AtomicBool>,
}

impl Tool for HoldsItsThread {
    type Args = NoArgs;
    const NAME: &'static str = "holds_its_thread";
    const DESCRIPTION: &'static str = "Holds its thread.";

    async fn call(&self, _: NoArgs) -> Result<ToolOutput, ToolError> {
        // The sender may be dropped when the test is over, which releases the thread, too.
        let _ = tokio::task::block_in_place(|| {
            self.holds.store(true, Ordering::SeqCst);
            self.held.lock().unwrap().recv()
        });
        Ok(ToolOutput::text("let go"))
    }
}

/// A tool that counts its own pending rows in the database while it runs.
struct LooksItselfUp {
    engine: Engine,
    rows_seen: Arc<AtomicUsize>,
}

impl Tool for LooksItselfUp {
    type Args = NoArgs;
    const NAME: &'static str = "looks_itself_up";
    const DESCRIPTION: &'static str = "Looks for its own row.";

    async fn call(&self, _: NoArgs) -> Result<ToolOutput, ToolError> {
        const SQL: &str = "SELECT COUNT(*) FROM tool_calls WHERE tool_name = 'looks_itself_up' AND status = 'pending'";
        let count: i64 = match &self.engine.pool().await {
            Pool::MySql(pool) => sqlx::query_scalar(SQL).fetch_one(pool).await.unwrap(),
            Pool::Sqlite(pool) => sqlx::query_scalar(SQL).fetch_one(pool).await.unwrap(),
        };
        self.rows_seen.store(usize::try_from(count).unwrap(), Ordering::SeqCst);
        Ok(ToolOutput::text("looked"))
    }
}

on_every_engine! {
    /// The row of a call is committed before its tool runs.
    async fn a_call_is_stored_before_its_tool_runs(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let rows_seen = Arc::new(AtomicUsize::new(0));
        let tool = LooksItselfUp { engine: engine.clone(), rows_seen: Arc::clone(&rows_seen) };
        let tools = ToolRegistry::default().with(tool).unwrap();
        let app = TestApp::builder(&engine)
            .with_model(Provider::OpenAi.settings(model.url()))
            .with_tools(tools)
            .spawn()
            .await;
        let conversation = app.create_conversation().await;
        model.reply([tool_call("looks_itself_up", "{}")]);
        model.reply([text("It was there.")]);
        app.send(&conversation, "Look").await.all().await;
        assert_eq!(rows_seen.load(Ordering::SeqCst), 1);
    }

    /// A panicking tool and an unknown tool produce results that the model receives. They never end the turn.
    async fn a_panicking_tool_produces_a_result(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let tools = ToolRegistry::default().with(Panics).unwrap();
        let app = TestApp::builder(&engine).with_mock(&model).with_tools(tools).spawn().await;
        let conversation = app.create_conversation().await;
        model.reply([tool_call("panics", "{}"), tool_call("no_such_tool", "{}")]);
        model.reply([text("Both failed.")]);
        let events = app.send(&conversation, "Break").await.all().await;
        assert!(matches!(events.last(), Some(ChatEvent::MessageEnd(end)) if end.content == "Both failed."));
        let kinds = rows!(app, (String, Option<String>), "SELECT status, error_type FROM tool_calls ORDER BY position");
        let error = "error".to_owned();
        assert_eq!(kinds, [(error.clone(), Some("panic".to_owned())), (error, Some("unknown_tool".to_owned()))]);
        model.assert_calls_paired();
    }

    /// Stopping while a tool runs cancels the call, and the next message has a valid history.
    async fn stopping_while_a_tool_runs_cancels_it(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let tools = ToolRegistry::default().with(Hangs).unwrap();
        let app = TestApp::builder(&engine).with_mock(&model).with_tools(tools).spawn().await;
        let conversation = app.create_conversation().await;
        model.reply([text("Waiting. "), tool_call("hangs", "{}")]);
        let mut turn = app.send(&conversation, "Hang").await;
        turn.until("tool_call_start").await;
        app.post(&format!("/api/conversations/{conversation}/stop"), Value::Null).await;
        let ended = turn.until("tool_call_end").await.event;
        assert!(matches!(ended, ChatEvent::ToolCallEnd(end) if end.status == ToolCallStatus::Cancelled));
        let end = turn.until("message_end").await.event;
        assert!(matches!(end, ChatEvent::MessageEnd(end) if end.status == MessageStatus::Stopped));
        model.reply([text("Going on.")]);
        let next = app.send(&conversation, "And now?").await.all().await;
        assert!(matches!(next.last(), Some(ChatEvent::MessageEnd(end)) if end.content == "Going on."));
        model.assert_calls_paired();
    }

    /// The provider rejects the API key. The error is clear and stored, the key is never shown, and the next message
    /// works.
    async fn a_wrong_key_fails_the_turn_with_a_clear_error(engine: Engine) {
        for provider in Provider::ALL {
            let model = MockLlm::start().await.unwrap();
            let app = TestApp::builder(&engine).with_model(provider.settings(model.url())).spawn().await;
            let conversation = app.create_conversation().await;
            model.fail(401, r#"{"error":{"type":"authentication_error","message":"bad key sk-test-secret"}}"#);
            let events = app.send(&conversation, "Hello").await.all().await;
            let Some(ChatEvent::Error(error)) = events.last() else { panic!("{events:?}") };
            assert_eq!(error.code, "model_auth");
            assert!(error.error.contains("LLM_API_KEY"), "{}", error.error);
            let shown = app.conversation(&conversation).await;
            assert_eq!(shown["messages"][1]["status"], "failed");
            assert_eq!(shown["messages"][1]["error"], error.error);
            assert!(!shown.to_string().contains("sk-test-secret"));
            model.reply([text("Now it works.")]);
            let next = app.send(&conversation, "Again").await.all().await;
            assert!(matches!(next.last(), Some(ChatEvent::MessageEnd(end)) if end.content == "Now it works."));
            model.assert_calls_paired();
        }
    }

    /// No server listens at the model's address.
    async fn an_unreachable_model_fails_the_turn_with_a_clear_error(engine: Engine) {
        let app = TestApp::builder(&engine)
            .with_model(Provider::OpenAi.settings(format!("http://{UNREACHABLE}/v1")))
            .spawn()
            .await;
        let conversation = app.create_conversation().await;
        let events = app.send(&conversation, "Hello").await.all().await;
        let Some(ChatEvent::Error(error)) = events.last() else { panic!("{events:?}") };
        assert_eq!(error.code, "model_unreachable");
        let steps = rows!(app, (Option<String>, Option<String>), "SELECT stop_reason, error FROM model_calls");
        assert_eq!(steps[0].0, None);
        assert!(steps[0].1.as_deref().unwrap().starts_with("model_unreachable"), "{steps:?}");
    }

    /// Requests to a busy provider are retried. The row of the model call has the number of attempts, also if the call
    /// fails.
    async fn the_row_of_a_model_call_has_its_number_of_attempts(engine: Engine) {
        for provider in Provider::ALL {
            let model = MockLlm::start().await.unwrap();
            let retries = RetryPolicy { retries: 2, first_delay: Duration::ZERO, max_delay: Duration::ZERO };
            let settings = ModelSettings { retries, ..provider.settings(model.url()) };
            let app = TestApp::builder(&engine).with_model(settings).spawn().await;
            let conversation = app.create_conversation().await;
            model.reply(fault("retry_after_ms").unwrap());
            model.reply([text("Here I am.")]);
            let events = app.send(&conversation, "Hello").await.all().await;
            assert!(matches!(events.last(), Some(ChatEvent::MessageEnd(end)) if end.content == "Here I am."));
            for _ in 0..3 {
                model.reply(fault("overloaded").unwrap());
            }
            let events = app.send(&conversation, "Again").await.all().await;
            assert!(matches!(events.last(), Some(ChatEvent::Error(error)) if error.code == "model_busy"));
            let rows = rows!(app, (i32, Option<String>), "SELECT attempts, error FROM model_calls ORDER BY id DESC LIMIT 2");
            assert_eq!((rows[0].0, rows[1].0), (3, 2), "{rows:?}");
            assert!(rows[0].1.as_deref().unwrap().starts_with("model_busy") && rows[1].1.is_none(), "{rows:?}");
            model.assert_calls_paired();
        }
    }

    /// A stream that is aborted never counts as a complete answer. The text that was already sent stays.
    async fn a_broken_stream_fails_the_turn_and_keeps_the_text(engine: Engine) {
        for provider in Provider::ALL {
            let model = MockLlm::start().await.unwrap();
            let app = TestApp::builder(&engine).with_model(provider.settings(model.url())).spawn().await;
            let conversation = app.create_conversation().await;
            model.reply([text("Half of it"), cut()]);
            let events = app.send(&conversation, "Hello").await.all().await;
            let Some(ChatEvent::Error(error)) = events.last() else { panic!("{events:?}") };
            assert_eq!(error.code, "model_bad_stream");
            let stored = app.conversation(&conversation).await;
            assert_eq!(stored["messages"][1]["content"], "Half of it");
            model.reply([text("All of it.")]);
            app.send(&conversation, "Again").await.all().await;
            model.assert_calls_paired();
        }
    }

    /// A turn that a dead process left running is closed: its text and finished calls stay, and no call stays pending.
    async fn a_turn_left_by_a_dead_process_is_closed_after_the_next_start(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let tools = ToolRegistry::default().with(Hangs).unwrap();
        let silent = TestApp::builder(&engine).with_mock(&model).with_tools(tools).spawn().await;
        let conversation = silent.create_conversation().await;
        model.reply([text("I begin. "), tool_call("hangs", "{}")]);
        let mut turn = silent.send(&conversation, "Hang").await;
        turn.until("tool_call_start").await;
        silent.shut_down().await;
        // As if the process had died before it could write the end, a long time ago.
        execute!(engine, "UPDATE messages SET content = '', status = 'streaming', error = NULL, error_code = NULL, \
            completed_at = NULL, lease_until = '2020-01-01 00:00:00' WHERE role = 'assistant'");
        execute!(engine, "UPDATE tool_calls SET status = 'pending', error = NULL, error_type = NULL, completed_at = NULL");
        execute!(engine, "UPDATE conversations SET active_message_id = head_message_id");
        execute!(engine, "DELETE FROM journal_events WHERE event IN ('tool_call_end', 'message_end')");
        let app = TestApp::spawn(&engine, &model).await;
        let stored = app.idle_conversation(&conversation).await;
        assert_eq!(stored["messages"][1]["status"], "interrupted");
        assert_eq!(stored["messages"][1]["content"], "I begin. ");
        assert_eq!(stored["messages"][1]["tool_calls"][0]["status"], "interrupted");
        model.reply([text("Going on.")]);
        let next = app.send(&conversation, "And now?").await.all().await;
        assert!(matches!(next.last(), Some(ChatEvent::MessageEnd(end)) if end.content == "Going on."));
        model.assert_calls_paired();
    }

    /// If a turn does not end in time at shutdown, it is marked as interrupted, and its client receives that end. The
    /// server refuses new turns meanwhile.
    async fn a_shutdown_marks_running_turns_as_interrupted(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text("Unfinished "), hang()]);
        let mut turn = app.send(&conversation, "Go").await;
        turn.until("content_delta").await;
        let ((), end) = tokio::join!(app.shut_down(), turn.until("message_end"));
        assert!(matches!(end.event, ChatEvent::MessageEnd(end) if end.status == MessageStatus::Interrupted));
        let app = TestApp::spawn(&engine, &model).await;
        let stored = app.conversation(&conversation).await;
        assert_eq!(stored["messages"][1]["status"], "interrupted");
        assert!(stored["messages"][1]["content"].as_str().unwrap().starts_with("Unfin"), "{stored}");
    }
}

/// The server refuses new turns while the running one finishes. Then the program exits with success.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sigterm_lets_a_running_turn_finish_and_refuses_new_ones() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let app = TestApp::launch(&engine, &model);
    let (conversation, other) = (app.create_conversation().await, app.create_conversation().await);
    let gate = model.reply_gated([text("To the ")], [text("end.")]);
    let mut turn = app.send(&conversation, "Go").await;
    turn.until("content_delta").await;
    app.process().signal("TERM");
    eventually("the server accepts no new turns", async || app.get("/readyz").await.status() != StatusCode::OK).await;
    let refused = app.post(&format!("/api/conversations/{other}/messages"), json!({"content": "Late"})).await;
    assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(refused.headers().contains_key("retry-after"));
    assert_eq!(refused.json::<Value>().await.unwrap()["type"], "/problems/shutting-down");
    gate.open();
    let end = turn.until("message_end").await.event;
    assert!(matches!(end, ChatEvent::MessageEnd(end) if end.content == "To the end."));
    assert!(app.wait(), "the program exits with success");
}

/// Such a tool cannot be aborted, so the turn ends without it, and the call's error says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn stopping_does_not_wait_for_an_unresponsive_tool() {
    let (engine, model) = (Engine::sqlite(), MockLlm::start().await.unwrap());
    let (let_go, held) = mpsc::channel();
    let holds = Arc::new(AtomicBool::new(false));
    let tool = HoldsItsThread { held: Mutex::new(held), holds: Arc::clone(&holds) };
    let tools = ToolRegistry::default().with(tool).unwrap();
    let app = TestApp::builder(&engine).with_mock(&model).with_tools(tools).spawn().await;
    let conversation = app.create_conversation().await;
    model.reply([tool_call("holds_its_thread", "{}")]);
    let mut turn = app.send(&conversation, "Hold").await;
    turn.until("tool_call_start").await;
    eventually("the tool blocks its thread", async || holds.load(Ordering::SeqCst)).await;
    app.post(&format!("/api/conversations/{conversation}/stop"), Value::Null).await;
    let ChatEvent::MessageEnd(end) = turn.until("message_end").await.event else { unreachable!() };
    assert_eq!((end.status, end.tool_calls[0].status), (MessageStatus::Stopped, ToolCallStatus::Interrupted));
    assert!(end.tool_calls[0].error.as_deref().is_some_and(|error| error.contains("may still be running")));
    drop(let_go);
    model.reply([text("Going on.")]);
    let next = app.send(&conversation, "And now?").await.all().await;
    assert!(matches!(next.last(), Some(ChatEvent::MessageEnd(end)) if end.content == "Going on."));
    model.assert_calls_paired();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_model_times_out() {
    let model = MockLlm::start().await.unwrap();
    let mut settings = Provider::Anthropic.settings(model.url());
    settings.idle_timeout = Duration::from_millis(100);
    let app = TestApp::builder(&Engine::sqlite()).with_model(settings).spawn().await;
    let conversation = app.create_conversation().await;
    model.reply([hang()]);
    let events = app.send(&conversation, "Hello").await.all().await;
    assert!(matches!(events.last(), Some(ChatEvent::Error(error)) if error.code == "model_timeout"), "{events:?}");
    let ready = app.get("/readyz").await;
    assert_eq!(ready.status(), StatusCode::OK);
}
