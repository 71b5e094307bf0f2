//! Requests that continue a response by its id: the model's context, the conversation that stores the answer, and the
//! responses that can be continued.

use serde_json::{Value, json};
use tallybook_agent::Limits;
use tallybook_mock_llm::{MockLlm, cut, text, tool_call};

use super::{
    super::kit::{conversations, refusal, tools},
    kit::{ResponseReader, ask, asked, whole, words},
};
use crate::support::{Engine, Provider, TestApp, on_every_engine, rows};

/// Returns a question that continues a response.
fn after(answer: &Value, input: impl Into<Value>) -> Value {
    asked(input, &json!({"previous_response_id": answer["id"]}))
}

/// Returns the messages and the system prompts of the model's last request.
fn last_prompt(model: &MockLlm) -> (String, String) {
    let body = model.requests().last().unwrap().body.clone();
    (body["messages"].to_string(), body["system"].to_string())
}

on_every_engine! {
    /// The model receives everything that the client sent, and the results of the server's tools. Instructions apply to
    /// one response; a developer message in the input applies to all later ones. The responses are in one conversation,
    /// and continuing an older one starts another branch.
    async fn a_response_is_continued_in_its_conversation(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        model.reply([tool_call("add", r#"{"a":1,"b":2}"#)]);
        model.reply([text("Three.")]);
        let input = json!([
            {"role": "developer", "content": "Be exact."}, {"role": "user", "content": "I was never here"},
            {"role": "assistant", "content": "Of course."}, {"role": "user", "content": "1 + 2?"},
        ]);
        let (first, uuid) = whole(&app, &asked(input, &json!({"instructions": "Only once."}))).await;
        model.reply([text("Four.")]);
        let (second, same) = whole(&app, &after(&first, "And one more?")).await;
        assert_eq!((&same, &second["previous_response_id"]), (&uuid, &first["id"]));
        model.reply([text("Five.")]);
        let (third, same) = whole(&app, &after(&second, json!([{"role": "user", "content": "And again?"}]))).await;
        assert_eq!(same, uuid);
        let (messages, system) = last_prompt(&model);
        for said in ["I was never here", "Of course.", "1 + 2?", r#"{\"result\":\"3\",\"success\":true}"#, "Three.",
            "And one more?", "Four.", "And again?"] {
            assert_eq!(messages.matches(said).count(), 1, "{said}: {messages}");
        }
        assert!(system.contains("Be exact.") && !system.contains("Only once."), "{system}");
        let stored = app.conversation(&uuid).await;
        assert_eq!(stored["messages"].as_array().unwrap().len(), 6);

        // Continuing an older response starts another branch.
        model.reply([text("Minus one.")]);
        let (fourth, same) = whole(&app, &after(&first, "And 1 - 2?")).await;
        assert_eq!((words(&fourth), &same), ("Minus one.", &uuid));
        let (messages, _) = last_prompt(&model);
        assert!(messages.contains("Three.") && !messages.contains("Four."), "{messages}");
        let stored = app.conversation(&uuid).await;
        let contents: Vec<&str> =
            stored["messages"].as_array().unwrap().iter().map(|message| message["content"].as_str().unwrap()).collect();
        assert_eq!(contents, ["1 + 2?", "Three.", "And 1 - 2?", "Minus one."]);
        assert_eq!(stored["messages"][2]["siblings"].as_array().unwrap().len(), 2);
        let found = app.get_json(&format!("/v1/responses/{}", third["id"].as_str().unwrap())).await;
        assert_eq!((words(&found), &found["previous_response_id"]), ("Five.", &second["id"]));
        model.assert_calls_paired();
    }

    /// A request is not refused because its conversation is busy: it gets a new conversation, with the same context.
    async fn a_busy_conversation_is_continued_in_a_new_one(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        model.reply([text("One.")]);
        let (first, uuid) = whole(&app, &asked("1?", &json!({}))).await;
        let gate = model.reply_gated([text("Slow")], [text("ly.")]);
        let mut body = after(&first, "2?");
        body["stream"] = json!(true);
        let mut slow = ResponseReader::new(ask(&app, &[], &body).await);
        slow.until_text("Slow").await;
        model.reply([text("Quickly.")]);
        let (quick, other) = whole(&app, &after(&first, "3?")).await;
        assert_ne!(other, uuid);
        let (messages, _) = last_prompt(&model);
        assert!(messages.contains("One.") && messages.contains("3?") && !messages.contains("2?"), "{messages}");
        gate.open();
        slow.all().await;
        // The response in the new conversation can be continued, too.
        model.reply([text("Later.")]);
        let (_, same) = whole(&app, &after(&quick, "4?")).await;
        assert_eq!(same, other);
        let (messages, _) = last_prompt(&model);
        assert!(messages.contains("One.") && messages.contains("Quickly."), "{messages}");
        model.assert_calls_paired();
    }

    /// A response that is unknown, not stored, or deleted (by its id or with its conversation) cannot be continued: the
    /// error is OpenAI's. `GET` and `DELETE` return 404. A deleted response in the middle of a chain is left out of the
    /// context.
    async fn unknown_unstored_and_deleted_responses_are_not_found(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let mut answers = Vec::new();
        for store in [json!(false), json!(true), json!(true)] {
            model.reply([text("Yes.")]);
            answers.push(whole(&app, &asked("Well?", &json!({"store": store}))).await);
        }
        let [(unstored, kept), (deleted, _), (purged, uuid)] = &answers[..] else { panic!() };
        assert_eq!(unstored["store"], false);
        assert_eq!(app.conversation(kept).await["messages"][1]["content"], "Yes.", "the conversation has the answer all the same");
        let path = |id: &Value| format!("/v1/responses/{}", id.as_str().unwrap());
        model.reply([text("More.")]);
        let (after_deleted, _) = whole(&app, &after(deleted, "And?")).await;
        let gone: Value = app.client.delete(app.url(&path(&deleted["id"]))).send().await.unwrap().json().await.unwrap();
        assert_eq!(gone, json!({"id": deleted["id"], "object": "response", "deleted": true}));
        app.delete(uuid).await;
        for id in [&unstored["id"], &deleted["id"], &purged["id"], &json!("resp_999999"), &json!("resp_abc"), &json!("x")] {
            let body = asked("And?", &json!({"previous_response_id": id}));
            let error = refusal(ask(&app, &[], &body).await, 400).await;
            assert_eq!((&error["code"], &error["param"]), (&json!("previous_response_not_found"), &json!("previous_response_id")));
            assert_eq!(refusal(app.get(&path(id)).await, 404).await["code"], "no_such_response");
            refusal(app.client.delete(app.url(&path(id))).send().await.unwrap(), 404).await;
        }
        assert_eq!(model.requests().len(), 4);
        model.reply([text("Still.")]);
        whole(&app, &after(&after_deleted, "Still?")).await;
        let (messages, _) = last_prompt(&model);
        assert!(messages.contains("More.") && !messages.contains("Well?"), "{messages}");
        assert_eq!(rows!(app, (i64,), "SELECT COUNT(*) FROM messages WHERE content = 'Well?'"), [(3,)]);
    }

    /// A failed response can be continued, too. Its partial text is in the context.
    async fn a_failed_response_can_be_continued(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let gate = model.reply_gated([text("Half of ")], [cut()]);
        let mut stream = ResponseReader::new(ask(&app, &[], &asked("All?", &json!({"stream": true}))).await);
        stream.until_text("Half of ").await;
        gate.open();
        let failed = stream.all().await.pop().unwrap()["response"].clone();
        assert_eq!(failed["status"], "failed");
        model.reply([text("the rest.")]);
        let (answer, _) = whole(&app, &after(&failed, "Go on")).await;
        assert_eq!(words(&answer), "the rest.");
        let (messages, _) = last_prompt(&model);
        assert!(messages.contains("All?") && messages.contains("Half of"), "{messages}");
        model.assert_calls_paired();
    }
}

/// Whole turns are left out, the oldest first, until the rest fits in `restored_bytes`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_chain_keeps_its_newest_turns() {
    let model = MockLlm::start().await.unwrap();
    let limits = Limits { restored_bytes: 400, ..Limits::default() };
    let settings = Provider::Anthropic.settings(model.url());
    let app =
        TestApp::builder(&Engine::sqlite()).with_model(settings).with_tools(tools()).with_limits(limits).spawn().await;
    let mut answer = json!({"id": null});
    for number in 0..6 {
        model.reply([text(format!("Answer {number}. {}", "x".repeat(40)))]);
        answer = whole(&app, &after(&answer, format!("Question {number}?"))).await.0;
    }
    let (messages, _) = last_prompt(&model);
    for (said, is_sent) in [("Question 0?", false), ("Answer 0.", false), ("Question 4?", true), ("Answer 4.", true)] {
        assert_eq!(messages.contains(said), is_sent, "{said}: {messages}");
    }
    assert_eq!(conversations(&app).await.len(), 1);
    model.assert_calls_paired();
}
