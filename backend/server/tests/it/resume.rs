//! Resuming an answer that was aborted for any reason. `crash` tests that nothing is lost or run twice after a crash.

use std::{
    future::pending,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use reqwest::StatusCode;
use serde_json::json;
use tallybook_mock_llm::{MockLlm, cut, hang, text, tool_call};
use tallybook_protocol::{ChatEvent, MessageStatus};
use tallybook_tools::{Tool, ToolError, ToolOutput, ToolRegistry};

use crate::support::{Engine, NoArgs, Provider, TestApp, end_of, names, on_every_engine, rows};

/// A tool that orders a pizza. It is not idempotent, so it must not be repeated without a request. It never returns.
struct Orders(Arc<AtomicUsize>);

impl Tool for Orders {
    type Args = NoArgs;
    const NAME: &'static str = "order";
    const DESCRIPTION: &'static str = "Orders a pizza.";
    const IDEMPOTENT: bool = false;

    async fn call(&self, _: NoArgs) -> Result<ToolOutput, ToolError> {
        self.0.fetch_add(1, Ordering::SeqCst);
        pending().await
    }
}

/// An idempotent tool that looks for a pizza. Its first call never returns.
struct Looks(Arc<AtomicUsize>);

impl Tool for Looks {
    type Args = NoArgs;
    const NAME: &'static str = "look";
    const DESCRIPTION: &'static str = "Looks for a pizza.";
    const IDEMPOTENT: bool = true;

    async fn call(&self, _: NoArgs) -> Result<ToolOutput, ToolError> {
        if self.0.fetch_add(1, Ordering::SeqCst) == 0 { pending().await } else { Ok(ToolOutput::text("none")) }
    }
}

on_every_engine! {
    /// If the outcome of a call is unknown, the call is repeated if its tool is idempotent. Otherwise the prompt says
    /// that the outcome is unknown.
    async fn a_call_with_an_unknown_outcome_is_repeated_only_if_idempotent(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let (orders, lookups) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let tools = || ToolRegistry::default().with(Orders(orders.clone())).unwrap().with(Looks(lookups.clone())).unwrap();
        let settings = || Provider::Anthropic.settings(model.url());
        let app = TestApp::builder(&engine).with_model(settings()).with_tools(tools()).spawn().await;
        let conversation = app.create_conversation().await;
        model.reply([text("Ordering. "), tool_call("order", "{}"), tool_call("look", "{}")]);
        let mut turn = app.send(&conversation, "Pizza!").await;
        turn.until("tool_call_start").await;
        turn.until("tool_call_start").await;
        crate::support::eventually("both run", async || lookups.load(Ordering::SeqCst) + orders.load(Ordering::SeqCst) == 2)
            .await;
        app.shut_down().await;

        let app = TestApp::builder(&engine).with_model(settings()).with_tools(tools()).spawn().await;
        assert_eq!(app.idle_conversation(&conversation).await["messages"][1]["status"], "interrupted");
        model.reply([text("No pizza yet.")]);
        let events = app.continue_turn(&conversation).await.all().await;
        let expected = ["snapshot", "tool_call_start", "tool_call_end", "content_delta", "message_end"];
        assert_eq!(names(&events), expected);
        assert_eq!(end_of(&events).content, "Ordering. \n\nNo pizza yet.");
        assert_eq!((orders.load(Ordering::SeqCst), lookups.load(Ordering::SeqCst)), (1, 2));
        let calls = rows!(app, (String, String, i32), "SELECT tool_name, status, position FROM tool_calls ORDER BY position");
        let calls: Vec<_> = calls.iter().map(|(tool, status, position)| (tool.as_str(), status.as_str(), *position)).collect();
        assert_eq!(calls, [("order", "cancelled", 0), ("look", "cancelled", 1), ("look", "success", 2)]);
        let results = model.requests().last().unwrap().body["messages"][2]["content"].to_string();
        assert!(results.contains("its outcome is unknown") && results.contains("none"), "{results}");
        model.assert_calls_paired();
    }

    /// The text of the failed step is removed, and the steps before it stay. The cost of the failed step still counts.
    async fn a_failed_answer_resumes_after_its_last_completed_step(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text("Adding. "), tool_call("add", r#"{"a":1,"b":2}"#)]);
        model.reply([text("It is fo"), cut()]);
        let failed = app.send(&conversation, "1 + 2?").await.all().await;
        assert!(matches!(failed.last(), Some(ChatEvent::Error(_))), "{failed:?}");

        model.reply([text("It is three.")]);
        let events = app.continue_turn(&conversation).await.all().await;
        let ChatEvent::Snapshot(kept) = &events[0] else { panic!("{events:?}") };
        assert_eq!((kept.content.as_str(), kept.tool_calls.len(), kept.epoch), ("Adding. ", 1, 2));
        assert_eq!((end_of(&events).content.as_str(), end_of(&events).status), ("Adding. \n\nIt is three.", MessageStatus::Complete));
        let stored = app.idle_conversation(&conversation).await;
        assert_eq!(stored["messages"][1]["content"], "Adding. \n\nIt is three.");
        assert_eq!(stored["messages"][1]["error"], json!(null));
        let steps = rows!(app, (i32, Option<String>), "SELECT step, stop_reason FROM model_calls ORDER BY step");
        assert_eq!(steps, [(0, Some("tool_use".to_owned())), (1, None), (2, Some("end_turn".to_owned()))]);

        model.reply([text("Yes.")]);
        app.send(&conversation, "Sure?").await.all().await;
        assert!(!model.requests().last().unwrap().body_text.contains("It is fo"));
        model.assert_calls_paired();
    }

    async fn a_stopped_answer_can_be_resumed_and_stopped_again(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let stop = format!("/api/conversations/{conversation}/stop");
        model.reply([text("One "), hang()]);
        let mut turn = app.send(&conversation, "Count.").await;
        let delta = turn.until_text("One ").await;
        app.post(&stop, json!({})).await;
        assert_eq!(end_of(&turn.all().await).status, MessageStatus::Stopped);
        model.reply([text("One again "), hang()]);
        let mut turn = app.continue_turn(&conversation).await;
        turn.until_text("One again ").await;
        // A client that has received only the first part, such as a tab that slept, gets a snapshot of the current
        // answer.
        let mut late = app.follow(&conversation, delta.id.as_deref()).await;
        let ChatEvent::Snapshot(now) = late.next().await.unwrap().event else { panic!("a snapshot comes first") };
        assert_eq!((now.epoch, now.content.as_str()), (2, "One again "));
        app.post(&stop, json!({})).await;
        let events = turn.all().await;
        assert_eq!((end_of(&events).status, end_of(&events).content.as_str()), (MessageStatus::Stopped, "One again "));
        let owed = app.follow(&conversation, delta.id.as_deref()).await.all().await;
        assert_eq!(owed, events[events.len() - 1..]);
    }

    /// The error event of a failed turn does not contain the answer's text, so a snapshot with the text is sent first.
    async fn a_client_that_reconnects_after_a_failure_gets_the_text(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text("Adding. "), tool_call("add", r#"{"a":1,"b":2}"#)]);
        model.reply([text("It is fo"), cut()]);
        let mut turn = app.send(&conversation, "1 + 2?").await;
        let start = turn.until("message_start").await;
        let failed = turn.all().await.pop().unwrap();
        let owed = app.follow(&conversation, start.id.as_deref()).await.all().await;
        let [ChatEvent::Snapshot(snapshot), end] = &owed[..] else { panic!("{owed:?}") };
        assert_eq!((snapshot.content.as_str(), snapshot.tool_calls.len()), ("Adding. \n\nIt is fo", 1));
        assert_eq!(end, &failed);
    }

    async fn complete_and_running_answers_cannot_be_resumed(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        let path = format!("/api/conversations/{conversation}/continue");
        let refused = async |problem: &str| {
            let response = app.post(&path, json!({})).await;
            assert_eq!(response.status(), StatusCode::CONFLICT);
            let body: serde_json::Value = response.json().await.unwrap();
            assert_eq!(body["type"], problem);
        };
        refused("/problems/nothing-to-continue").await;
        model.reply([text("Done.")]);
        app.send(&conversation, "Go").await.all().await;
        app.idle_conversation(&conversation).await;
        refused("/problems/nothing-to-continue").await;
        let gate = model.reply_gated([text("So ")], [text("far.")]);
        let turn = app.send(&conversation, "Again").await;
        gate.reached().await;
        refused("/problems/turn-running").await;
        gate.open();
        turn.all().await;
        let unknown = app.post(&format!("/api/conversations/{}/continue", uuid::Uuid::nil()), json!({})).await;
        assert_eq!(unknown.status(), StatusCode::NOT_FOUND);
    }
}
