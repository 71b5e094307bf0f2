//! Playback of an answer from its stored journal.

use reqwest::StatusCode;
use serde_json::Value;
use tallybook_mock_llm::{MockLlm, cut, text, tool_call};
use tallybook_protocol::{ChatEvent, Playback};

use crate::support::{Engine, TestApp, execute, on_every_engine};

/// Returns all events of an answer, read page by page.
async fn play(app: &TestApp, address: &str) -> Vec<(String, ChatEvent)> {
    let (mut events, mut query) = (Vec::new(), String::new());
    loop {
        let page: Playback = app.get(&format!("{address}{query}")).await.json().await.unwrap();
        assert!(page.items.is_sorted_by_key(|played| played.at));
        events.extend(page.items.iter().map(|played| (played.event.clone(), played.parse().unwrap())));
        let Some(next) = page.next else { return events };
        query = format!("?after={next}");
    }
}

on_every_engine! {
    /// Plays an answer that was interrupted and resumed: every event of both runs, in order, until the journal is
    /// purged.
    async fn playback_returns_every_event_in_order(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let uuid = app.create_conversation().await;
        model.reply([text("Let me see."), tool_call("add", r#"{"a":1,"b":2}"#)]);
        let gate = model.reply_gated([text("It")], [cut()]);
        let turn = app.send(&uuid, "What is 1 + 2?").await;
        gate.reached().await;
        let messages = app.conversation(&uuid).await["messages"].clone();
        let address = format!("/api/conversations/{uuid}/messages/{}/playback", messages[1]["id"]);
        assert_eq!(app.get(&address).await.status(), StatusCode::CONFLICT, "the answer is still being written");
        gate.open();
        turn.all().await;
        model.reply([text("It is 3.")]);
        app.continue_turn(&uuid).await.all().await;

        let events = play(&app, &address).await;
        let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
        let once = ["tool_call_start", "tool_call_end"].map(|name| names.iter().filter(|known| **known == name).count());
        assert_eq!((names[0], once), ("message_start", [1, 1]), "{names:?}");
        let second = names.iter().position(|name| *name == "snapshot").expect("the second run starts with a snapshot");
        assert!(names[..second].iter().any(|name| matches!(*name, "error" | "message_end")), "{names:?}");
        let (_, ChatEvent::MessageEnd(end)) = events.last().unwrap() else { panic!("{names:?}") };
        assert_eq!(end.content, "Let me see.\n\nIt is 3.");

        let question = format!("/api/conversations/{uuid}/messages/{}/playback", messages[0]["id"]);
        assert_eq!(app.get_json(&question).await["items"], Value::Array(Vec::new()), "a question has no events");
        execute!(app, "DELETE FROM journal_events");
        assert_eq!(app.get_json(&address).await["items"], Value::Array(Vec::new()), "the journal was purged");
        let elsewhere = app.create_conversation().await;
        let address = format!("/api/conversations/{elsewhere}/messages/{}/playback", messages[1]["id"]);
        assert_eq!(app.get(&address).await.status(), StatusCode::NOT_FOUND);
    }
}
