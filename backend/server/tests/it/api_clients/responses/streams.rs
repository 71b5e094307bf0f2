//! Responses as streams of events: their order, keep-alives, how they end, and what happens to the turn if the client
//! disconnects.

use std::time::Duration;

use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, cut, text, tool_call};
use tallybook_tools::ToolRegistry;
use tokio::time::timeout;

use super::{
    super::kit::{Orders, conversations, ends_as, refusal, tools},
    kit::{ResponseReader, ask, asked, offered},
};
use crate::support::{Engine, Hangs, TIMEOUT, TestApp, eventually, on_every_engine};

fn streamed(words: &str) -> Value {
    asked(words, &json!({"stream": true}))
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["type"].as_str().unwrap()["response.".len()..].trim_end()).collect()
}

on_every_engine! {
    /// The events have OpenAI's order and consecutive numbers, with keep-alives among them. The web UI follows the turn
    /// live.
    async fn a_stream_has_openais_events_and_the_page_follows_it_live(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        let gate = model.reply_gated([text("Two ")], [text("\"words\" 数.")]);
        let mut stream = ResponseReader::new(ask(&app, &[], &streamed("Say")).await);
        assert_eq!(stream.headers()["x-accel-buffering"], "no");
        let uuid = stream.headers()["x-tallybook-conversation"].to_str().unwrap().to_owned();
        let mut begin = Vec::new();
        while stream.text != "Two " {
            begin.push(stream.next().await.unwrap());
        }
        let expected = ["created", "in_progress", "output_item.added", "content_part.added", "output_text.delta"];
        // Before the first text, there may be keep-alives, which look like the second event.
        let mut seen = kinds(&begin);
        let mut is_known = false;
        seen.retain(|kind| *kind != "in_progress" || !std::mem::replace(&mut is_known, true));
        seen.dedup();
        assert_eq!(seen, expected);
        assert_eq!((&begin[0]["response"]["status"], &begin[0]["response"]["output"]), (&json!("in_progress"), &json!([])));
        for _ in 0..2 {
            let sign = stream.next().await.unwrap();
            assert_eq!((&sign["type"], &sign["response"]["id"]), (&json!("response.in_progress"), &begin[0]["response"]["id"]));
        }
        let mut page = app.follow(&uuid, None).await;
        page.until_text("Two ").await;
        gate.open();
        let mut rest = stream.all().await;
        rest.retain(|event| event["type"] != "response.in_progress");
        let expected = ["output_text.delta", "output_text.done", "content_part.done", "output_item.done", "completed"];
        let mut seen = kinds(&rest);
        seen.dedup();
        assert_eq!(seen, expected);
        assert_eq!(stream.text, "Two \"words\" 数.");
        let [.., done, part, item, last] = &rest[..] else { panic!("{rest:?}") };
        assert_eq!((&done["text"], &part["part"]["text"]), (&json!(stream.text), &json!(stream.text)));
        assert_eq!(last["response"]["output"], json!([item["item"]]));
        assert_eq!((&item["item"]["status"], &item["item"]["id"]), (&json!("completed"), &done["item_id"]));
        assert_eq!((&last["response"]["status"], &last["response"]["usage"]["total_tokens"]), (&json!("completed"), &json!(32)));
        page.until("message_end").await;
    }

    /// If the client disconnects, the turn is stopped, whether it is streamed or not.
    async fn a_client_that_disconnects_stops_its_turn(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::builder(&engine)
            .with_mock(&model)
            .with_tools(ToolRegistry::default().with(Hangs).unwrap())
            .with_settings(|_| {})
            .spawn()
            .await;
        for (place, body) in [streamed("Wait"), asked("Wait", &json!({}))].into_iter().enumerate() {
            model.reply([tool_call("hangs", "{}")]);
            let request = app.client.post(app.url("/v1/responses")).json(&body);
            let asking = tokio::spawn(async move { request.send().await.unwrap().text().await });
            eventually("the turn has started", async || conversations(&app).await.len() == place + 1).await;
            let uuid = conversations(&app).await[0]["uuid"].as_str().unwrap().to_owned();
            let runs = async || app.conversation(&uuid).await["messages"][1]["tool_calls"][0]["status"] == "pending";
            eventually("the tool runs", runs).await;
            asking.abort();
            ends_as(&app, &uuid, "stopped").await;
        }
    }

    /// Each client call is an item of its own, streamed as OpenAI does it: the call's id and name, its arguments, and
    /// the complete item.
    async fn client_calls_are_items_of_the_stream(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::spawn(&engine, &model).await;
        model.reply([text("Let me see."), tool_call("look", r#"{"city":"x"}"#), tool_call("listen", "{}")]);
        let body = asked("Well?", &json!({"stream": true, "tools": offered()}));
        let mut stream = ResponseReader::new(ask(&app, &[], &body).await);
        let mut events = stream.all().await;
        events.retain(|event| event["output_index"].as_u64().is_some_and(|index| index > 0) || event["type"] == "response.completed");
        let call = ["output_item.added", "function_call_arguments.delta", "function_call_arguments.done", "output_item.done"];
        assert_eq!(kinds(&events), [&call[..], &call[..], &["completed"]].concat());
        assert_eq!(events[0]["item"]["arguments"], "");
        assert_eq!((&events[1]["delta"], &events[2]["arguments"]), (&json!(r#"{"city":"x"}"#), &events[1]["delta"]));
        let output = &events[8]["response"]["output"];
        assert_eq!((&output[1], &output[2]), (&events[3]["item"], &events[7]["item"]));
        let id = events[3]["item"]["call_id"].as_str().unwrap();
        assert!(id.starts_with("tb_") && events[1]["item_id"] == format!("fc_{id}"), "{events:?}");
        assert_eq!((&events[7]["item"]["name"], &events[7]["output_index"]), (&json!("listen"), &json!(2)));
        assert_eq!(events[8]["response"]["status"], "completed");
    }
}

/// A failure before the first text is reported by the HTTP status. A later failure is reported by an event with the
/// partial response.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failure_is_reported_by_its_status_or_in_the_stream() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::builder(&Engine::sqlite())
        .with_mock(&model)
        .with_tools(tools())
        .with_settings(|settings| {
            // Longer than a failure takes, so that no keep-alive starts the stream before it.
            settings.keep_alive = Duration::from_secs(20);
        })
        .spawn()
        .await;
    for body in [streamed("Hello"), asked("Hello", &json!({}))] {
        model.fail(401, r#"{"error": {"message": "no"}}"#);
        let response = ask(&app, &[], &body).await;
        assert_eq!(response.headers()["x-should-retry"], "false");
        assert_eq!(refusal(response, 502).await["code"], "model_auth");
    }
    let gate = model.reply_gated([text("Half of ")], [cut()]);
    let mut stream = ResponseReader::new(ask(&app, &[], &streamed("All?")).await);
    stream.until_text("Half of ").await;
    gate.open();
    let events = stream.all().await;
    let last = &events.last().unwrap()["response"];
    assert_eq!(events.last().unwrap()["type"], "response.failed");
    assert_eq!((&last["status"], &last["error"]["code"]), (&json!("failed"), &json!("model_bad_stream")));
    assert_eq!((&last["output"][0]["content"][0]["text"], &last["usage"]), (&json!("Half of "), &Value::Null));
    let found = app.get_json(&format!("/v1/responses/{}", last["id"].as_str().unwrap())).await;
    assert_eq!((&found["status"], &found["error"]["code"]), (&json!("failed"), &json!("model_bad_stream")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_shutdown_is_reported_in_the_stream() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let _gate = model.reply_gated([text("To be ")], [text("continued.")]);
    let mut stream = ResponseReader::new(ask(&app, &[], &streamed("And?")).await);
    stream.until_text("To be ").await;
    let ended = tokio::spawn(app.shut_down());
    let last = stream.all().await.pop().unwrap();
    assert_eq!((&last["type"], &last["response"]["error"]["code"]), (&json!("response.failed"), &json!("shutdown")));
    ended.await.unwrap();
}

/// The stream contains the approval link, sends keep-alives, and continues after the decision.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_continues_after_the_decision() {
    let model = MockLlm::start().await.unwrap();
    let tools = ToolRegistry::default().with(Orders).unwrap();
    let app =
        TestApp::builder(&Engine::sqlite()).with_mock(&model).with_tools(tools).with_settings(|_| {}).spawn().await;
    model.reply([tool_call("order", "{}")]);
    let mut stream = ResponseReader::new(ask(&app, &[], &streamed("I am hungry")).await);
    let uuid = stream.headers()["x-tallybook-conversation"].to_str().unwrap().to_owned();
    stream.until_text(&format!("{}/c/{uuid}", app.address)).await;
    let signs = async {
        for _ in 0..2 {
            assert_eq!(stream.next().await.unwrap()["type"], "response.in_progress");
        }
    };
    timeout(TIMEOUT, signs).await.expect("keep-alives");
    let call = app.conversation(&uuid).await["messages"][1]["tool_calls"][0]["tool_call_id"].clone();
    model.reply([text("Bon appétit!")]);
    app.post(&format!("/api/tool-calls/{call}/decision"), json!({"decision": "approve"})).await.text().await.unwrap();
    let last = stream.all().await.pop().unwrap();
    assert_eq!(last["type"], "response.completed");
    assert!(stream.text.ends_with("Bon appétit!"), "{}", stream.text);
    assert_eq!(last["response"]["output"][0]["content"][0]["text"], stream.text);
}
