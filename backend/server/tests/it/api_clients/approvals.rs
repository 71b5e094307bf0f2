//! Answers to API clients while a tool call waits for the user's approval.

use std::time::Duration;

use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_tools::ToolRegistry;

use super::kit::{ChunkReader, Orders, ask, conversation_of, ends_as, question, streamed, words};
use crate::support::{Engine, TestApp, eventually, on_every_engine, rows};

async fn server(engine: &Engine, model: &MockLlm, wait: Duration) -> TestApp {
    let tools = ToolRegistry::default().with(Orders).unwrap();
    TestApp::builder(engine)
        .with_mock(model)
        .with_tools(tools)
        .with_settings(|settings| settings.http_limits.approval_wait = wait)
        .spawn()
        .await
}

/// Approves a call of the answer as soon as it waits for approval.
async fn approve(app: &TestApp, conversation: &str, number: usize) {
    let call = async || app.conversation(conversation).await["messages"][1]["tool_calls"][number].clone();
    eventually("the call waits", async || call().await["status"] == "awaiting_approval").await;
    let call = call().await["tool_call_id"].clone();
    let decided = app.post(&format!("/api/tool-calls/{call}/decision"), json!({"decision": "approve"})).await;
    decided.text().await.unwrap();
}

on_every_engine! {
    /// The stream contains the approval link once, although two calls wait. It sends keep-alives, and continues with
    /// the client-supplied input.
    async fn an_answer_continues_after_the_decision(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = server(&engine, &model, Duration::from_mins(5)).await;
        model.reply([text("Let me order."), tool_call("order", "{}")]);
        let body = json!({"stream": true, "max_tokens": 99, "messages": [
            {"role": "system", "content": "Only soup."}, {"role": "user", "content": "I was never here"},
            {"role": "assistant", "content": "Of course."}, {"role": "user", "content": "I am hungry"}]});
        let response = ask(&app, &[], &body).await;
        let uuid = conversation_of(&response);
        let mut stream = ChunkReader::new(response);
        let link = format!("{}/c/{uuid}", app.address);
        stream.until_text(&link).await;
        stream.until_signs(3).await;
        model.reply([tool_call("order", "{}")]);
        approve(&app, &uuid, 0).await;
        model.reply([text("Bon appétit!")]);
        approve(&app, &uuid, 1).await;
        let last = stream.all().await.pop().unwrap();
        assert_eq!(last["choices"][0]["finish_reason"], "stop");
        let notice = format!("A tool call needs your approval: {link}\n\n");
        assert_eq!(stream.text, format!("Let me order.\n\n{notice}\n\nBon appétit!"));
        assert_eq!(app.conversation(&uuid).await["messages"][1]["content"], "Let me order.\n\nBon appétit!");
        let sent = &model.requests()[2].body;
        assert_eq!(sent["max_tokens"], 99);
        let prompt = sent.to_string();
        for words in ["Only soup.", "I was never here", "Of course.", "I am hungry", "Let me order.", "ordered"] {
            assert!(prompt.contains(words), "{words}: {prompt}");
        }
        model.assert_calls_paired();
    }
}

/// Between containers, API clients use an address that no browser can open.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_approval_link_starts_with_the_public_url() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::builder(&Engine::sqlite())
        .with_mock(&model)
        .with_tools(ToolRegistry::default().with(Orders).unwrap())
        .with_settings(|settings| {
            settings.public_url = Some("https://chat.example.org".parse().unwrap());
            settings.http_limits.approval_wait = Duration::ZERO;
        })
        .spawn()
        .await;
    model.reply([tool_call("order", "{}")]);
    let response = ask(&app, &[], &question("I am hungry")).await;
    let uuid = conversation_of(&response);
    let said = words(response).await;
    assert!(said.contains(&format!("needs your approval: https://chat.example.org/c/{uuid}")), "{said}");
}

/// The reasoning summary does not report a waiting call as failed either.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_waiting_call_is_not_reported_as_failed() {
    let model = MockLlm::start().await.unwrap();
    let app = server(&Engine::sqlite(), &model, Duration::ZERO).await;
    model.reply([tool_call("order", "{}")]);
    model.fail(401, "");
    let response = app.post("/api/chat", json!({"message": "I am hungry"})).await;
    assert_eq!(response.status(), 200);
    let answer: Value = response.json().await.unwrap();
    let stored = app.conversation(answer["thread_id"].as_str().unwrap()).await;
    assert_eq!((&stored["awaiting_approval"], &answer["reasoning_summary"]), (&json!(true), &json!([])));
}

/// The user may decide much later, so the client's chat continues in a new conversation, and stays there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_whose_answer_waits_continues_in_a_new_conversation() {
    let model = MockLlm::start().await.unwrap();
    let app = server(&Engine::sqlite(), &model, Duration::ZERO).await;
    let own = [("X-OpenWebUI-Chat-Id", "my chat")];
    model.reply([tool_call("order", "{}")]);
    let waits = conversation_of(&ask(&app, &own, &question("I am hungry")).await);
    model.reply([text("Well.")]);
    let next = conversation_of(&ask(&app, &own, &question("And?")).await);
    assert_ne!(next, waits);
    model.reply([text("Well.")]);
    assert_eq!(conversation_of(&ask(&app, &own, &question("And now?")).await), next);
}

/// After the approval timeout, the answer ends with a link to the conversation, and the turn keeps waiting. If the
/// client disconnects while the turn waits, the turn is stopped.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_undecided_answer_ends_at_its_timeout_and_an_unread_one_is_stopped() {
    let model = MockLlm::start().await.unwrap();
    let engine = Engine::sqlite();
    let app = server(&engine, &model, Duration::ZERO).await;
    model.reply([tool_call("order", "{}")]);
    let response = ask(&app, &[], &question("I am hungry")).await;
    let uuid = conversation_of(&response);
    let said = words(response).await;
    assert!(said.contains(&format!("/c/{uuid}\n\nThe call still needs approval.")), "{said}");
    assert_eq!(app.conversation(&uuid).await["awaiting_approval"], Value::Bool(true));
    app.shut_down().await;

    let app = server(&engine, &model, Duration::from_mins(5)).await;
    model.reply([tool_call("order", "{}")]);
    let response = ask(&app, &[("X-Tallybook-Conversation", &uuid)], &streamed("Well?")).await;
    let other = conversation_of(&response);
    assert_ne!(other, uuid, "a conversation that waits is busy");
    let mut stream = ChunkReader::new(response);
    stream.until_text("needs your approval").await;
    drop(stream);
    ends_as(&app, &other, "stopped").await;
    assert_eq!(app.conversation(&other).await["messages"][1]["tool_calls"][0]["status"], "denied");
    app.shut_down().await;

    // The client-supplied input of a finished turn is deleted with its journal. A waiting turn keeps its input, with
    // which it resumes.
    let retention = Some(Duration::from_millis(1));
    let app = TestApp::builder(&engine)
        .with_mock(&model)
        .with_tools(ToolRegistry::default())
        .with_settings(|settings| {
            settings.journal_retention = retention;
        })
        .spawn()
        .await;
    let kept = async || rows!(app, (i64,), "SELECT COUNT(*) FROM turn_inputs") == [(1,)];
    eventually("the input of the finished turn is deleted", kept).await;
}
