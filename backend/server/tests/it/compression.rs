//! Compression of responses that the server makes: text is compressed for clients that accept gzip, event streams never
//! are.

use std::io::Read as _;

use flate2::read::GzDecoder;
use reqwest::{
    Response,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, VARY},
};
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text};

use crate::support::{Engine, TestApp};

async fn ask(app: &TestApp, path: &str, accepted: &str) -> Response {
    app.client.get(app.url(path)).header(ACCEPT_ENCODING, accepted).send().await.unwrap()
}

fn header(response: &Response, name: reqwest::header::HeaderName) -> &str {
    response.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_is_compressed_for_clients_that_accept_gzip() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let conversation = app.create_conversation().await;
    model.reply([text("A long answer. ".repeat(100))]);
    app.send(&conversation, "Tell me of whales.").await.all().await;
    for _ in 0..20 {
        app.create_conversation().await;
    }
    for path in [
        "/",
        "/api/conversations",
        "/api/conversations?q=",
        &format!("/api/conversations/{conversation}"),
        &format!("/api/conversations/{conversation}/export?format=json"),
        &format!("/api/conversations/{conversation}/export?format=markdown"),
        "/api/tools",
    ] {
        let plain = ask(&app, path, "identity").await;
        let small = ask(&app, path, "gzip, br").await;
        assert_eq!((header(&plain, CONTENT_ENCODING), varies(&plain)), ("", true), "{path}");
        assert_eq!((header(&small, CONTENT_ENCODING), varies(&small)), ("gzip", true), "{path}");
        assert_eq!(header(&small, CONTENT_TYPE), header(&plain, CONTENT_TYPE), "{path}");
        let (plain, small) = (plain.bytes().await.unwrap(), small.bytes().await.unwrap());
        let mut unpacked = Vec::new();
        GzDecoder::new(&small[..]).read_to_end(&mut unpacked).unwrap();
        assert!(small.len() < plain.len(), "{path}: {} of {} bytes", small.len(), plain.len());
        // Bodies of pages are not compared because each response has its own nonce. Exports are not compared either.
        if path.starts_with("/api/") && !path.contains("export") {
            assert_eq!(json_of(&unpacked), json_of(&plain), "{path}");
        }
    }
    let tiny = ask(&app, "/healthz", "gzip").await;
    assert_eq!(header(&tiny, CONTENT_ENCODING), "", "a body of a few bytes is not worth it");
}

fn varies(response: &Response) -> bool {
    response.headers().get_all(VARY).iter().any(|value| value == "accept-encoding")
}

fn json_of(bytes: &[u8]) -> Value {
    serde_json::from_slice(bytes).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn event_streams_are_not_compressed() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let conversation = app.create_conversation().await;
    model.reply([text("Hello.")]);
    let path = app.url(&format!("/api/conversations/{conversation}/messages"));
    let request = app.client.post(path).header(ACCEPT_ENCODING, "gzip").json(&json!({"content": "Hello"}));
    let turn = request.send().await.unwrap();
    assert_eq!((header(&turn, CONTENT_TYPE), header(&turn, CONTENT_ENCODING)), ("text/event-stream", ""));
    assert!(turn.text().await.unwrap().contains("event: message_end"));
    let feed = ask(&app, "/api/events", "gzip").await;
    assert_eq!((header(&feed, CONTENT_TYPE), header(&feed, CONTENT_ENCODING)), ("text/event-stream", ""));
}
