//! Requests of API clients that are refused. Every refusal under `/v1` has OpenAI's JSON format.

use reqwest::Method;
use serde_json::{Value, json};
use tallybook_mock_llm::MockLlm;

use super::kit::{ask, question, refusal};
use crate::support::{Engine, TestApp};

/// Returns a question with one more field.
fn with(field: &str, value: Value) -> Value {
    let mut body = question("Hello");
    body[field] = value;
    body
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unsupported_parameters_are_refused_by_name() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    for (field, value) in [
        ("n", json!(2)),
        ("logprobs", json!(true)),
        ("functions", json!([{"name": "f"}])),
        ("tools", json!("all")),
        ("tool_choice", json!("always")),
        ("response_format", json!({"type": "json_object"})),
        ("audio", json!({"voice": "x"})),
        ("stop", json!(["a", "b", "c", "d", "e"])),
        ("stop", json!("")),
        ("max_tokens", json!(0)),
        ("max_completion_tokens", json!(-1)),
        ("temperature", json!(2.1)),
        ("temperature", json!("hot")),
        ("messages", json!([])),
        ("messages", json!("Hello")),
    ] {
        let error = refusal(ask(&app, &[], &with(field, value.clone())).await, 400).await;
        assert_eq!(error["param"], field, "{value}: {error}");
        assert_eq!(error["type"], "invalid_request_error");
    }
    let image = json!([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:"}}]}]);
    let error = refusal(ask(&app, &[], &with("messages", image)).await, 400).await;
    assert_eq!(error["param"], "messages[0].content[0]");
    let list = json!(["test-model", [["user", "Hello", null, null]], false]);
    assert_eq!(refusal(ask(&app, &[], &list).await, 400).await["param"], Value::Null);
    let unknown = refusal(ask(&app, &[], &with("model", json!("gpt-9"))).await, 404).await;
    assert_eq!((&unknown["code"], &unknown["param"]), (&json!("model_not_found"), &json!("model")));
    let long = "x".repeat(201);
    let error = refusal(ask(&app, &[("X-Tallybook-Conversation", &long)], &question("Hello")).await, 400).await;
    assert_eq!(error["param"], "X-Tallybook-Conversation");
    assert_eq!(model.requests().len(), 0, "none of these reaches the model");
    assert_eq!(super::conversations(&app).await.len(), 0, "none is stored");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_refusal_has_openais_format() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let send = async |method: Method, path: &str, content_type: &str, body: String| {
        let request = app.client.request(method, app.url(path)).header("content-type", content_type).body(body);
        request.send().await.unwrap()
    };
    let (post, chat, json) = (Method::POST, "/v1/chat/completions", "application/json");
    let huge = question(&"x".repeat(2 * 1024 * 1024)).to_string();
    for (response, status, code) in [
        (send(post.clone(), chat, json, huge).await, 413, json!("body_too_large")),
        (send(post.clone(), chat, "text/plain", "{}".to_owned()).await, 415, json!("not_json")),
        (send(post.clone(), chat, json, "{\"messages\": ".to_owned()).await, 400, json!("bad_body")),
        (send(post.clone(), chat, json, "7".to_owned()).await, 400, Value::Null),
        (send(post.clone(), "/v1/embeddings", json, "{}".to_owned()).await, 404, json!("no_such_route")),
        (send(Method::GET, "/v1", json, String::new()).await, 404, json!("no_such_route")),
        (send(Method::GET, chat, json, String::new()).await, 405, json!("method_not_allowed")),
        (send(Method::DELETE, "/v1/models", json, String::new()).await, 405, json!("method_not_allowed")),
    ] {
        assert_eq!(response.headers()["content-type"], "application/json");
        assert_eq!(refusal(response, status).await["code"], code);
    }
    let foreign = app.client.get(app.url("/v1/models")).header("origin", "https://evil.example").send().await.unwrap();
    assert_eq!(refusal(foreign, 403).await["code"], "foreign_origin");
    // Refusals of other routes keep their format.
    let elsewhere = app.get("/api/nothing").await;
    assert_eq!(elsewhere.headers()["content-type"], "application/problem+json");
}
