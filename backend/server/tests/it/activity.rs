//! Events about the model's activity while no text arrives: they are sent to subscribers and not stored.

use serde_json::json;
use tallybook_llm::{ModelSettings, RetryPolicy};
use tallybook_mock_llm::{MockLlm, fault, text, tool_call};
use tallybook_protocol::ChatEvent;

use crate::support::{Engine, Provider, TestApp, on_every_engine, rows};

on_every_engine! {
    async fn retries_and_call_progress_are_reported_and_not_stored(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let retries = RetryPolicy { retries: 1, ..RetryPolicy::default() };
        let settings = ModelSettings { retries, ..Provider::Anthropic.settings(model.url()) };
        let app = TestApp::builder(&engine).with_model(settings).spawn().await;
        let conversation = app.create_conversation().await;
        let input = json!({ "a": 1, "b": 2, "words": "many ".repeat(2000) }).to_string();
        model.reply(fault("retry_after_ms").unwrap());
        model.reply([tool_call("n".repeat(100), &input)]);
        model.reply([text("Three.")]);
        let mut turn = app.send(&conversation, "1 + 2?").await;
        let start = turn.until("message_start").await;

        let seen = turn.until("model_retry").await;
        assert_eq!(seen.id, start.id, "the event has no id of its own");
        let ChatEvent::ModelRetry(retry) = seen.event else { panic!("{:?}", seen.event) };
        let sent = (retry.code.as_str(), retry.attempt, retry.attempts, retry.delay_ms);
        assert_eq!(sent, ("model_busy", 2, 2, 1));

        let seen = turn.until("tool_call_preparing").await;
        assert_eq!(seen.id, start.id, "the event has no id of its own");
        let ChatEvent::ToolCallPreparing(call) = seen.event else { panic!("{:?}", seen.event) };
        assert_eq!((call.tool_name, call.bytes), ("n".repeat(64), 0), "the name is truncated to its maximum length");

        turn.all().await;
        let stored = rows!(app, (String,), "SELECT DISTINCT event FROM journal_events ORDER BY event");
        let stored: Vec<&str> = stored.iter().map(|(event,)| event.as_str()).collect();
        assert_eq!(stored, ["content_delta", "message_end", "message_start", "tool_call_end", "tool_call_start"]);
    }
}
