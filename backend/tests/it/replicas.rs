//! Two servers on one MySQL: what one runs, the other follows, stops and, when the first is gone, closes.

use reqwest::StatusCode;
use serde_json::json;
use tallybook_mock_llm::{MockLlm, hang, text, tool_call};
use tallybook_protocol::{ChatEvent, MessageStatus};

use crate::support::{Engine, TestApp};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_is_followed_joined_late_and_stopped_from_another_replica() {
    for engine in Engine::every_mysql().await {
        let model = MockLlm::start().await.unwrap();
        let (owner, other) = (TestApp::spawn(&engine, &model).await, TestApp::spawn(&engine, &model).await);
        let conversation = owner.create_conversation().await;
        model.reply([text("Adding. "), tool_call("add", r#"{"a":1,"b":2}"#)]);
        let gate = model.reply_gated([text("So ")], [text("far. "), hang()]);
        let mut here = owner.send(&conversation, "1 + 2?").await;
        let tool_end = here.until("tool_call_end").await;
        gate.reached().await;

        // Late, from a snapshot; and from where somebody left off at the other server.
        let mut late = other.follow(&conversation, None).await;
        let ChatEvent::Snapshot(snapshot) = late.next().await.unwrap().event else { panic!("a snapshot comes first") };
        assert!(snapshot.content.starts_with("Adding. "), "{}", snapshot.content);
        assert_eq!(snapshot.tool_calls.len(), 1);
        let mut moved = other.follow(&conversation, tool_end.id.as_deref()).await;
        let busy = other.post(&format!("/api/conversations/{conversation}/messages"), json!({"content": "?"})).await;
        assert_eq!(busy.status(), StatusCode::CONFLICT);
        gate.open();
        let mut text = String::from("Adding. ");
        while text != "Adding. So far. " {
            let ChatEvent::ContentDelta(delta) = moved.until("content_delta").await.event else { unreachable!() };
            assert_eq!(usize::try_from(delta.offset).unwrap(), text.len());
            text.push_str(&delta.delta);
        }

        let stopped = other.post(&format!("/api/conversations/{conversation}/stop"), json!({})).await;
        assert_eq!(stopped.status(), StatusCode::NO_CONTENT);
        let end = here.until("message_end").await;
        let ChatEvent::MessageEnd(message) = &end.event else { unreachable!() };
        assert_eq!((message.status, message.content.as_str()), (MessageStatus::Stopped, "Adding. So far. "));
        assert_eq!(late.until("message_end").await, end);
        assert_eq!(moved.until("message_end").await, end);
        model.assert_calls_paired();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_turn_of_a_silent_replica_is_closed_by_another_and_the_conversation_goes_on() {
    for engine in Engine::every_mysql().await {
        let model = MockLlm::start().await.unwrap();
        let (owner, other) = (TestApp::spawn(&engine, &model).await, TestApp::spawn(&engine, &model).await);
        let conversation = owner.create_conversation().await;
        model.reply([text("Begun "), hang()]);
        let mut here = owner.send(&conversation, "Go").await;
        here.until("content_delta").await;
        let mut there = other.follow(&conversation, None).await;
        // As if the owner had been silent since long ago; its own renewal comes too late or not at all.
        crate::support::execute!(
            other,
            "UPDATE messages SET epoch = epoch + 1, lease_until = '2020-01-01' WHERE status = 'streaming'"
        );
        while there.next().await.is_some() {}
        let seen = other.idle_conversation(&conversation).await;
        assert_eq!(seen["messages"][1]["status"], "interrupted");
        model.reply([text("Going on.")]);
        let next = other.send(&conversation, "And now?").await.all().await;
        assert!(matches!(next.last(), Some(ChatEvent::MessageEnd(end)) if end.content == "Going on."));
        model.assert_calls_paired();
    }
}
