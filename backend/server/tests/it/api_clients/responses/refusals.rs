//! Requests to the Responses API that are refused.

use reqwest::Method;
use serde_json::{Value, json};
use tallybook_mock_llm::MockLlm;

use super::{
    super::kit::{conversations, refusal},
    kit::{ask, asked, offered},
};
use crate::support::{Engine, TestApp};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unsupported_parameters_are_refused_by_name() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let image = json!([{"role": "user", "content": [{"type": "input_image", "image_url": "data:"}]}]);
    let file = json!([{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]);
    for (field, value, param) in [
        ("background", json!(true), "background"),
        ("conversation", json!("conv_1"), "conversation"),
        ("conversation", json!({"id": "conv_1"}), "conversation"),
        ("prompt", json!({"id": "pmpt_1"}), "prompt"),
        ("text", json!({"format": {"type": "json_schema", "name": "x", "schema": {}}}), "text.format"),
        ("text", json!({"format": {"type": "json_object"}}), "text.format"),
        ("max_output_tokens", json!(0), "max_output_tokens"),
        ("temperature", json!(2.1), "temperature"),
        ("temperature", json!("hot"), "temperature"),
        ("tools", json!("all"), "tools"),
        ("tools", json!([{"type": "function"}]), "tools[0].name"),
        ("tools", json!([{"type": "web_search"}, {"type": "function", "name": "no name"}]), "tools[1].name"),
        ("tools", json!([{"type": "function", "name": "f", "parameters": "{}"}]), "tools[0].parameters"),
        ("tool_choice", json!("always"), "tool_choice"),
        ("tool_choice", json!("required"), "tool_choice"),
        ("tool_choice", json!({"type": "web_search"}), "tool_choice"),
        ("tool_choice", json!({"type": "function", "name": "look"}), "tool_choice"),
        ("store", json!("yes"), "store"),
        ("previous_response_id", json!(7), "previous_response_id"),
        ("input", Value::Null, "input"),
        ("input", json!([]), "input"),
        ("input", json!(" "), "input"),
        ("input", image, "input[0].content[0]"),
        ("input", file, "input[0].content[0]"),
        ("input", json!([{"type": "item_reference", "id": "msg_1"}]), "input[0].type"),
    ] {
        let error = refusal(ask(&app, &[], &asked("Hello", &json!({field: value}))).await, 400).await;
        assert_eq!(
            (&error["param"], &error["type"]),
            (&json!(param), &json!("invalid_request_error")),
            "{field}: {value}"
        );
    }
    let unknown = refusal(ask(&app, &[], &asked("Hello", &json!({"model": "gpt-9"}))).await, 404).await;
    assert_eq!((&unknown["code"], &unknown["param"]), (&json!("model_not_found"), &json!("model")));
    for (fields, param) in [
        (json!({"model": "test-model:plain", "tools": offered()}), "tools"),
        (json!({"model": "test-model:plain", "previous_response_id": "resp_1"}), "previous_response_id"),
    ] {
        assert_eq!(refusal(ask(&app, &[], &asked("Hello", &fields)).await, 400).await["param"], param);
    }
    assert_eq!((model.requests().len(), conversations(&app).await.len()), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_refusal_has_openais_format() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let send = async |method: Method, path: &str, content_type: &str, body: String| {
        let request = app.client.request(method, app.url(path)).header("content-type", content_type).body(body);
        request.send().await.unwrap()
    };
    let (post, path, json) = (Method::POST, "/v1/responses", "application/json");
    let huge = asked("x".repeat(2 * 1024 * 1024), &json!({})).to_string();
    for (response, status, code) in [
        (send(post.clone(), path, json, huge).await, 413, json!("body_too_large")),
        (send(post.clone(), path, "text/plain", "{}".to_owned()).await, 415, json!("not_json")),
        (send(post.clone(), path, json, "{\"input\": ".to_owned()).await, 400, json!("bad_body")),
        (send(post.clone(), path, json, "7".to_owned()).await, 400, Value::Null),
        (send(Method::GET, path, json, String::new()).await, 405, json!("method_not_allowed")),
        (send(post.clone(), "/v1/responses/resp_1", json, "{}".to_owned()).await, 405, json!("method_not_allowed")),
        (send(post, "/v1/responses/resp_1/cancel", json, "{}".to_owned()).await, 404, json!("no_such_route")),
    ] {
        assert_eq!(refusal(response, status).await["code"], code);
    }
}
