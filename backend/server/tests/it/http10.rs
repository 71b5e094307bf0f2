//! Clients that speak HTTP/1.0: responses of unknown length are not sent in chunks, and end with the connection.

use std::io::Read as _;

use flate2::read::GzDecoder;
use serde_json::Value;
use tallybook_mock_llm::{MockLlm, text};

use crate::support::{Engine, RawConnection, TestApp};

/// Sends a request and reads until the server closes the connection. Returns the head and the body.
async fn ask(app: &TestApp, request: &str) -> (String, Vec<u8>) {
    let mut connection = RawConnection::open(app).await;
    connection.send(request).await;
    let bytes = connection.rest_bytes().await;
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").expect("a head");
    (String::from_utf8(bytes[..end].to_vec()).unwrap().to_ascii_lowercase(), bytes[end + 4..].to_vec())
}

/// Sends a GET request with these headers twice, first without `Connection` and then with `Connection: keep-alive`.
/// Returns both responses.
async fn get(app: &TestApp, path: &str, headers: &str) -> Vec<(String, Vec<u8>)> {
    let mut answers = Vec::new();
    for connection in ["", "Connection: keep-alive\r\n"] {
        answers.push(ask(app, &format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n{connection}{headers}\r\n")).await);
    }
    answers
}

fn assert_ends_by_closing(head: &str) {
    assert!(head.starts_with("http/1.0 200 "), "{head}");
    for header in ["transfer-encoding", "content-length", "connection: keep-alive"] {
        assert!(!head.contains(header), "{head}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_have_no_chunks() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let conversation = app.create_conversation().await;
    model.reply([text("Good day.")]);
    let body = r#"{"content": "Hello"}"#;
    let request = format!(
        "POST /api/conversations/{conversation}/messages HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let (head, events) = ask(&app, &request).await;
    assert_ends_by_closing(&head);
    let events = String::from_utf8(events).unwrap();
    assert!(events.contains("event: message_start") && events.contains("event: message_end"), "{events}");
    assert!(events.ends_with("\n\n"), "{events}");
    for (head, file) in get(&app, &format!("/api/conversations/{conversation}/export?format=json"), "").await {
        assert_ends_by_closing(&head);
        assert!(serde_json::from_slice::<Value>(&file).is_ok(), "{}", String::from_utf8_lossy(&file));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn compressed_pages_and_lists_have_no_chunks() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    for _ in 0..20 {
        app.create_conversation().await;
    }
    for (path, begin) in [("/", "<!doctype html>"), ("/api/conversations", "{\"items\":[")] {
        for (head, body) in get(&app, path, "Accept-Encoding: gzip\r\n").await {
            assert_ends_by_closing(&head);
            let mut text = String::new();
            GzDecoder::new(&body[..]).read_to_string(&mut text).unwrap();
            assert!(text.to_ascii_lowercase().starts_with(begin), "{text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_stays_open_if_the_length_is_known() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let mut connection = RawConnection::open(&app).await;
    for _ in 0..2 {
        connection.send("GET /healthz HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n").await;
        let answer = connection.until("ok\n").await;
        assert!(answer.contains("connection: keep-alive") && answer.contains("content-length"), "{answer}");
    }
}
