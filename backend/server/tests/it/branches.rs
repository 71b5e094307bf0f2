//! Branches: regenerated answers, edited messages, and the selection of versions.

use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_protocol::{ChatEvent, Conversation, Message, MessageId, MessageStart, MessageStatus};

use crate::support::{Engine, EventReader, TestApp, on_every_engine};

async fn regenerate(app: &TestApp, conversation: &str, id: MessageId) -> Response {
    app.post(&format!("/api/conversations/{conversation}/messages/{id}/regenerate"), json!(null)).await
}

async fn edit(app: &TestApp, conversation: &str, id: MessageId, content: &str) -> Response {
    let body = json!({"content": content, "edit_of": id, "client_message_id": format!("{id}-{}", content.len())});
    app.post(&format!("/api/conversations/{conversation}/messages"), body).await
}

async fn select(app: &TestApp, conversation: &str, id: MessageId) -> Response {
    app.post(&format!("/api/conversations/{conversation}/messages/{id}/select"), json!(null)).await
}

/// Reads a turn to its end. Returns its first event.
async fn whole_turn(response: Response) -> MessageStart {
    let events = EventReader::new(response).all().await;
    let Some(ChatEvent::MessageStart(start)) = events.first().cloned() else { panic!("{events:?}") };
    start
}

async fn shown(app: &TestApp, conversation: &str) -> Vec<Message> {
    let conversation: Conversation = app.get(&format!("/api/conversations/{conversation}")).await.json().await.unwrap();
    conversation.messages
}

fn texts(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|message| message.content.as_str()).collect()
}

/// Returns the complete body of the newest request to the model.
fn last_request(model: &MockLlm) -> String {
    model.requests().pop().unwrap().body_text
}

on_every_engine! {
    async fn a_regenerated_answer_keeps_the_old_version(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([tool_call("add", r#"{"a":1,"b":2}"#)]);
        for words in ["Old answer.", "New answer.", "Third."] {
            model.reply([text(words)]);
        }
        let first = whole_turn(app.post(&format!("/api/conversations/{conversation}/messages"), json!({"content": "1 + 2?"})).await).await;
        assert_eq!((first.parent_id, &first.user_siblings, &first.assistant_siblings), (None, &vec![], &vec![]));

        let again = whole_turn(regenerate(&app, &conversation, first.assistant_message_id).await).await;
        let versions = vec![first.assistant_message_id, again.assistant_message_id];
        assert_eq!((again.user_message_id, again.parent_id, &*again.content), (first.user_message_id, None, "1 + 2?"));
        assert_eq!((&again.user_siblings, &again.assistant_siblings), (&vec![], &versions));
        let prompt = last_request(&model);
        assert!(prompt.contains("1 + 2?") && !prompt.contains("Old answer.") && !prompt.contains("tool_use"), "{prompt}");

        let messages = shown(&app, &conversation).await;
        assert_eq!(texts(&messages), ["1 + 2?", "New answer."]);
        assert_eq!((&messages[0].siblings, &messages[1].siblings), (&vec![], &versions));
        assert!(messages[1].tool_calls.is_empty(), "the old version keeps its own calls");

        // The user selects the old answer again and continues from there.
        let back: Conversation = select(&app, &conversation, versions[0]).await.json().await.unwrap();
        assert_eq!(texts(&back.messages), ["1 + 2?", "Old answer."]);
        assert_eq!(back.messages[1].tool_calls.len(), 1);
        assert_eq!(shown(&app, &conversation).await, back.messages, "every client sees the selected branch");
        app.send(&conversation, "And now?").await.all().await;
        let prompt = last_request(&model);
        assert!(prompt.contains("Old answer.") && prompt.contains("tool_use") && !prompt.contains("New answer."), "{prompt}");
        assert_eq!(texts(&shown(&app, &conversation).await), ["1 + 2?", "Old answer.", "And now?", "Third."]);
        model.assert_calls_paired();
    }

    async fn an_edited_message_starts_a_branch(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        for words in ["A1", "A2", "A2 edited", "A1 edited"] {
            model.reply([text(words)]);
        }
        for words in ["Q1", "Q2"] {
            app.send(&conversation, words).await.all().await;
        }
        let before = shown(&app, &conversation).await;
        let (first, second) = (before[0].id, before[2].id);

        let start = whole_turn(edit(&app, &conversation, second, "Q2 edited").await).await;
        assert_eq!((start.parent_id, &start.user_siblings), (Some(before[1].id), &vec![second, start.user_message_id]));
        assert_eq!(texts(&shown(&app, &conversation).await), ["Q1", "A1", "Q2 edited", "A2 edited"]);
        let prompt = last_request(&model);
        assert!(prompt.contains("A1") && !prompt.contains("A2"), "{prompt}");

        // An edit of the first message of all, by a client that does not know whether its first request arrived.
        let start = whole_turn(edit(&app, &conversation, first, "Q1 edited").await).await;
        assert_eq!((start.parent_id, &start.user_siblings), (None, &vec![first, start.user_message_id]));
        let twice = EventReader::new(edit(&app, &conversation, first, "Q1 edited").await).all().await;
        assert!(matches!(twice.last(), Some(ChatEvent::MessageEnd(end)) if end.content == "A1 edited"), "{twice:?}");
        let edited = shown(&app, &conversation).await;
        assert_eq!(texts(&edited), ["Q1 edited", "A1 edited"]);
        assert_eq!(edited[0].siblings, [first, start.user_message_id], "one version was added, not two");

        // Below the first version of the first message, the newest branch is the one with the edited second message.
        let back: Conversation = select(&app, &conversation, first).await.json().await.unwrap();
        assert_eq!(texts(&back.messages), ["Q1", "A1", "Q2 edited", "A2 edited"]);
        let back: Conversation = select(&app, &conversation, second).await.json().await.unwrap();
        assert_eq!(texts(&back.messages), ["Q1", "A1", "Q2", "A2"]);
        assert_eq!(back.summary.title, "Q1");
        model.assert_calls_paired();
    }

    async fn a_failed_answer_can_be_regenerated(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.fail(500, "no");
        app.send(&conversation, "1 + 2?").await.all().await;
        let failed = shown(&app, &conversation).await;
        assert_eq!(failed[1].status, MessageStatus::Failed);
        model.reply([text("Three.")]);
        whole_turn(regenerate(&app, &conversation, failed[1].id).await).await;
        let messages = shown(&app, &conversation).await;
        assert_eq!((texts(&messages), messages[1].status), (vec!["1 + 2?", "Three."], MessageStatus::Complete));
    }

    async fn branching_is_refused_while_a_turn_runs(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        model.reply([text("A1")]);
        app.send(&conversation, "Q1").await.all().await;
        let gate = model.reply_late([text("A2")]);
        let turn = app.send(&conversation, "Q2").await;
        let messages = shown(&app, &conversation).await;
        for refused in [
            regenerate(&app, &conversation, messages[1].id).await,
            edit(&app, &conversation, messages[0].id, "Q1 edited").await,
            select(&app, &conversation, messages[1].id).await,
        ] {
            assert_eq!(refused.status(), StatusCode::CONFLICT);
            assert_eq!(refused.json::<Value>().await.unwrap()["type"], "/problems/turn-running");
        }
        gate.open();
        turn.all().await;
        assert_eq!(texts(&shown(&app, &conversation).await), ["Q1", "A1", "Q2", "A2"]);
    }

    async fn missing_messages_and_wrong_roles_are_refused(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let (conversation, other) = (app.create_conversation().await, app.create_conversation().await);
        for conversation in [&conversation, &other] {
            model.reply([text("A1")]);
            app.send(conversation, "Q1").await.all().await;
        }
        let messages = shown(&app, &conversation).await;
        let (question, answer) = (messages[0].id, messages[1].id);
        let foreign = shown(&app, &other).await;
        for (refused, status) in [
            (regenerate(&app, &conversation, foreign[1].id).await, StatusCode::NOT_FOUND),
            (edit(&app, &conversation, foreign[0].id, "x").await, StatusCode::NOT_FOUND),
            (select(&app, &conversation, foreign[1].id).await, StatusCode::NOT_FOUND),
            (select(&app, &conversation, MessageId(i64::MAX)).await, StatusCode::NOT_FOUND),
            (regenerate(&app, &conversation, question).await, StatusCode::UNPROCESSABLE_ENTITY),
            (edit(&app, &conversation, answer, "x").await, StatusCode::UNPROCESSABLE_ENTITY),
            (edit(&app, &conversation, question, " ").await, StatusCode::UNPROCESSABLE_ENTITY),
        ] {
            assert_eq!(refused.status(), status);
            assert_eq!(refused.headers()["content-type"], "application/problem+json");
        }
        assert_eq!(shown(&app, &conversation).await, messages);
        let gone = app.post("/api/conversations/00000000-0000-4000-8000-000000000000/messages/1/select", json!(null)).await;
        assert_eq!(gone.status(), StatusCode::NOT_FOUND);
    }

    /// The exported file contains the selected branch, the search finds every version, and the feed reports the
    /// selection. Deleting the conversation deletes all branches.
    async fn export_search_feed_and_deletion_handle_branches(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let conversation = app.create_conversation().await;
        for words in ["Rhubarb", "Quince"] {
            model.reply([text(words)]);
        }
        app.send(&conversation, "Which fruit?").await.all().await;
        let old = shown(&app, &conversation).await[1].id;
        whole_turn(regenerate(&app, &conversation, old).await).await;

        let export = format!("/api/conversations/{conversation}/export?format=markdown");
        let file = app.get(&export).await.text().await.unwrap();
        assert!(file.contains("Quince") && !file.contains("Rhubarb"), "{file}");
        for word in ["rhubarb", "quince"] {
            let found = app.get_json(&format!("/api/conversations?q={word}")).await;
            assert_eq!(found["items"][0]["uuid"], conversation, "{word}");
        }

        let mut feed = app.get("/api/events").await;
        assert_eq!(select(&app, &conversation, old).await.status(), StatusCode::OK);
        let mut received = String::new();
        while !received.contains("event: branch_selected\n") {
            let chunk = tokio::time::timeout(crate::support::TIMEOUT, feed.chunk()).await.expect("in time").unwrap();
            received.push_str(&String::from_utf8_lossy(&chunk.expect("the feed stays open")));
        }
        let file = app.get(&export).await.text().await.unwrap();
        assert!(!file.contains("Quince") && file.contains("Rhubarb"), "{file}");

        app.delete(&conversation).await;
        for word in ["rhubarb", "quince"] {
            assert_eq!(app.get_json(&format!("/api/conversations?q={word}")).await["items"], json!([]), "{word}");
        }
    }
}
