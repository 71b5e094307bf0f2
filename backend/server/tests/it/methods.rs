//! HTTP methods: every address answers `HEAD` as it answers `GET`, and lists its methods if it receives another one.

use reqwest::{Method, StatusCode};
use tallybook_mock_llm::{MockLlm, text};

use crate::{
    bad_input::assert_problem,
    support::{Engine, RawConnection, TestApp},
};

/// Headers that differ between responses, and the length, which only a response with a body has to name.
const OF_ONE_ANSWER: [&str; 4] = ["x-request-id", "date", "content-security-policy", "content-length"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn head_is_get_without_a_body() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let conversation = app.create_conversation().await;
    model.reply([text("Hello.")]);
    app.send(&conversation, "hi").await.all().await;
    let of = |what: &str| format!("/api/conversations/{conversation}{what}");
    for path in [
        "/api/conversations".to_owned(),
        of(""),
        of("/export?format=json"),
        of("/export?format=html"),
        of("/events"),
        "/api/conversations/nonsense".to_owned(),
        "/api/events".to_owned(),
        "/api/models".to_owned(),
        "/api/tools".to_owned(),
        "/api/nowhere".to_owned(),
        "/healthz".to_owned(),
        "/readyz".to_owned(),
        "/metrics".to_owned(),
        "/favicon.svg".to_owned(),
        "/manifest.webmanifest".to_owned(),
        "/service-worker.js".to_owned(),
        "/pkg/nothing/tallybook.js".to_owned(),
        "/".to_owned(),
        format!("/c/{conversation}"),
        "/nowhere".to_owned(),
    ] {
        let get = app.get(&path).await;
        let head = app.client.head(app.url(&path)).send().await.unwrap();
        assert_eq!(head.status(), get.status(), "{path}");
        let headers = |response: &reqwest::Response| {
            let mut headers = response.headers().clone();
            for name in OF_ONE_ANSWER {
                headers.remove(name);
            }
            headers
        };
        assert_eq!(headers(&head), headers(&get), "{path}");
        assert!(get.headers().contains_key("cache-control"), "{path}");
        assert_eq!(head.text().await.unwrap(), "", "{path}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn head_has_the_length_of_the_body_and_ends() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let length = app.get("/api/tools").await.content_length().unwrap();
    let asked = async |path: &str| {
        RawConnection::ask(&app, &format!("HEAD {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")).await
    };
    let tools = asked("/api/tools").await;
    assert!(tools.contains(&format!("content-length: {length}\r\n")) && tools.ends_with("\r\n\r\n"), "{tools}");
    // A stream would never end.
    let feed = asked("/api/events").await;
    assert!(feed.starts_with("HTTP/1.1 200 ") && feed.contains("text/event-stream"), "{feed}");
    assert!(feed.ends_with("\r\n\r\n") && feed.matches("\r\n\r\n").count() == 1, "{feed}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_method_is_answered_with_the_allowed_ones() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let conversation = format!("/api/conversations/{}", app.create_conversation().await);
    for (method, path, allowed) in [
        (Method::PUT, "/api/conversations".to_owned(), "GET, HEAD, POST, DELETE"),
        (Method::POST, conversation.clone(), "GET, HEAD, PATCH, DELETE"),
        (Method::OPTIONS, conversation.clone(), "GET, HEAD, PATCH, DELETE"),
        (Method::GET, format!("{conversation}/messages"), "POST"),
        (Method::HEAD, format!("{conversation}/stop"), "POST"),
        (Method::GET, format!("{conversation}/messages/1/select"), "POST"),
        (Method::POST, format!("{conversation}/events"), "GET, HEAD"),
        (Method::PUT, "/api/tools".to_owned(), "GET, HEAD"),
        (Method::POST, "/healthz".to_owned(), "GET, HEAD"),
        (Method::POST, "/favicon.svg".to_owned(), "GET, HEAD"),
        (Method::POST, "/".to_owned(), "GET, HEAD"),
        (Method::from_bytes(b"BREW").unwrap(), "/c/tea".to_owned(), "GET, HEAD"),
    ] {
        let refused = app.client.request(method.clone(), app.url(&path)).send().await.unwrap();
        assert_eq!(refused.headers()["allow"], allowed, "{method} {path}");
        assert_eq!(refused.headers()["cache-control"], "no-store");
        if method == Method::HEAD {
            assert_eq!(refused.status(), StatusCode::METHOD_NOT_ALLOWED);
        } else {
            assert_problem(refused, 405, "method-not-allowed").await;
        }
    }
    let unknown = app.client.delete(app.url(&format!("{conversation}/nowhere"))).send().await.unwrap();
    assert_problem(unknown, 404, "no-such-route").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn private_responses_are_not_cached() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let conversation = app.create_conversation().await;
    for path in
        ["/api/conversations", "/api/tools", "/api/nowhere", "/readyz", &format!("/api/conversations/{conversation}")]
    {
        assert_eq!(app.get(path).await.headers()["cache-control"], "no-store", "{path}");
    }
    let renamed = app.client.patch(app.url(&format!("/api/conversations/{conversation}")));
    let renamed = renamed.json(&serde_json::json!({"title": "New"})).send().await.unwrap();
    assert_eq!((renamed.status(), &renamed.headers()["cache-control"]), (StatusCode::OK, &"no-store".parse().unwrap()));
}
