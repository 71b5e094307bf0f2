//! Bad input of every kind: the response is a problem+json document that says what is wrong, and nothing is stored.

use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use tallybook_mock_llm::MockLlm;

use crate::support::{Engine, TestApp, execute};

pub(crate) async fn assert_problem(response: Response, status: u16, kind: &str) -> Value {
    assert_eq!(response.status().as_u16(), status);
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let id = response.headers()["x-request-id"].to_str().unwrap().to_owned();
    let problem: Value = response.json().await.unwrap();
    assert_eq!(problem["type"], format!("/problems/{kind}"), "{problem}");
    assert_eq!(problem["status"], status);
    assert_eq!(problem["request_id"], id);
    assert!(problem["title"].is_string() && problem["detail"].as_str().is_some_and(|d| !d.is_empty()), "{problem}");
    problem
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_bodies_are_refused_with_a_reason() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let conversation = app.create_conversation().await;
    let path = app.url(&format!("/api/conversations/{conversation}/messages"));
    let raw = |content_type: &'static str, body: Vec<u8>| {
        app.client.post(&path).header("content-type", content_type).body(body).send()
    };
    let json_type = "application/json";
    assert_problem(raw(json_type, b"".to_vec()).await.unwrap(), 400, "bad-body").await;
    assert_problem(raw(json_type, b"{not json".to_vec()).await.unwrap(), 400, "bad-body").await;
    assert_problem(raw(json_type, b"{\"content\":\"\xff\xfe\"}".to_vec()).await.unwrap(), 400, "bad-body").await;
    for (body, place) in [
        (json!({"content": 5}), "The field content "),
        (json!({"content": "hi", "parts": [{"type": "text", "text": []}]}), "The field parts[0]"),
    ] {
        let problem = assert_problem(app.client.post(&path).json(&body).send().await.unwrap(), 400, "bad-body").await;
        assert!(problem["detail"].as_str().unwrap().starts_with(place), "{problem}");
    }
    assert_problem(raw("text/plain", b"{\"content\":\"hi\"}".to_vec()).await.unwrap(), 415, "not-json").await;
    let huge = format!("{{\"content\":\"{}\"}}", "x".repeat(3 * 1024 * 1024));
    assert_problem(raw(json_type, huge.into_bytes()).await.unwrap(), 413, "body-too-large").await;
    let deep = "[".repeat(1_000_000);
    assert_problem(raw(json_type, deep.into_bytes()).await.unwrap(), 400, "bad-body").await;
    for (body, why) in [
        (json!({"content": ""}), "empty"),
        (json!({"content": " \n\t"}), "blank"),
        (json!({"content": "x".repeat(100_001)}), "too long"),
        (json!({"content": "a\0b"}), "NUL"),
        (json!({"content": "hi", "client_message_id": ""}), "empty id"),
        (json!({"content": "hi", "client_message_id": "x".repeat(65)}), "long id"),
        (json!({"content": "hi", "client_message_id": "naïve"}), "odd id"),
    ] {
        let response = app.client.post(&path).json(&body).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::UNPROCESSABLE_ENTITY, "{why}");
        assert_problem(response, 422, "invalid-input").await;
    }
    assert!(app.conversation(&conversation).await["messages"].as_array().unwrap().is_empty());
    assert!(model.requests().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_conversations_and_routes_are_404() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    for id in ["01890a5d-ac96-774b-bcce-b302099a8057", "7", "not-a-uuid", "%00"] {
        let path = format!("/api/conversations/{id}");
        assert_problem(app.get(&path).await, 404, "no-such-conversation").await;
        assert_problem(app.get(&format!("{path}/events")).await, 404, "no-such-conversation").await;
        let send = app.post(&format!("{path}/messages"), json!({"content": "hi"})).await;
        assert_problem(send, 404, "no-such-conversation").await;
        assert_problem(app.post(&format!("{path}/stop"), json!({})).await, 404, "no-such-conversation").await;
        let rename = app.client.patch(app.url(&path)).json(&json!({"title": "x"})).send().await.unwrap();
        assert_problem(rename, 404, "no-such-conversation").await;
    }
    assert_problem(app.get("/api/nowhere").await, 404, "no-such-route").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_ids_are_not_found() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let conversation = app.create_conversation().await;
    for id in ["abc", "1.5", "99999999999999999999", "%00", "0"] {
        assert_problem(app.get(&format!("/api/tool-calls/{id}")).await, 404, "no-such-tool-call").await;
        for what in ["regenerate", "select"] {
            for (uuid, kind) in [(&*conversation, "no-such-message"), ("not-a-uuid", "no-such-conversation")] {
                let path = format!("/api/conversations/{uuid}/messages/{id}/{what}");
                assert_problem(app.post(&path, json!(null)).await, 404, kind).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_users_conversation_is_not_found() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let foreign = app.create_conversation().await;
    execute!(app, "INSERT INTO users (id, name, role, created_at) VALUES (2, 'other', 'user', '2026-01-01 00:00:00')");
    execute!(app, "UPDATE conversations SET user_id = 2");
    let refusal = async |conversation: &str, what: &str| {
        let mut problem: Value =
            app.get(&format!("/api/conversations/{conversation}{what}")).await.json().await.unwrap();
        problem["request_id"].take();
        problem
    };
    for what in ["", "/events"] {
        let unknown = refusal("01890a5d-ac96-774b-bcce-b302099a8057", what).await;
        assert_eq!(unknown["status"], 404);
        assert_eq!(refusal(&foreign, what).await, unknown);
    }
    let path = format!("/api/conversations/{foreign}");
    for (what, body) in [("messages", json!({"content": "hi"})), ("stop", json!({})), ("continue", json!({}))] {
        assert_problem(app.post(&format!("{path}/{what}"), body).await, 404, "no-such-conversation").await;
    }
    assert_problem(app.client.delete(app.url(&path)).send().await.unwrap(), 404, "no-such-conversation").await;
    assert!(app.get_json("/api/conversations").await["items"].as_array().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn invalid_titles_and_queries_are_refused() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    for title in ["", "  ", "two\nlines", &"x".repeat(201)] {
        assert_problem(app.post("/api/conversations", json!({"title": title})).await, 422, "invalid-input").await;
    }
    let problem = assert_problem(app.get("/api/conversations?q=a&limit=many").await, 400, "bad-query").await;
    assert!(problem["detail"].as_str().unwrap().starts_with("The parameter limit is not valid: "), "{problem}");
    let search = |letters: usize| format!("/api/conversations?q={}", "%C3%A4".repeat(letters));
    assert_eq!(app.get(&search(200)).await.status(), StatusCode::OK);
    assert_problem(app.get(&search(201)).await, 422, "invalid-input").await;
    for cursor in ["x", "1", "-", "99999999999999999999-1", "9223372036854775807-1"] {
        let response = app.get(&format!("/api/conversations?cursor={cursor}")).await;
        assert_problem(response, 422, "invalid-input").await;
    }
}
