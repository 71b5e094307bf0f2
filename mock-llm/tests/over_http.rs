//! Tests of the server with a client on a plain socket.

#![expect(clippy::unwrap_used, reason = "clippy spares only test functions, and these helpers serve nothing else")]

use std::io;

use tallybook_mock_llm::{MockLlm, cut, serve_by_hand, text, tool_call};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

const MESSAGES: &str = "/v1/messages";
const COMPLETIONS: &str = "/v1/chat/completions";
const QUESTION: &str = r#"{"model":"m","stream":true,"max_tokens":9,"messages":[{"role":"user","content":"use add 1 2"}],
    "tools":[{}]}"#;

/// Sends a question and leaves the connection open.
async fn ask(address: &str, path: &str) -> TcpStream {
    let host = address.trim_start_matches("http://");
    let mut socket = TcpStream::connect(host).await.unwrap();
    let head = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nX-Test: 1\r\n");
    let request = format!("{head}Content-Length: {}\r\n\r\n{QUESTION}", QUESTION.len());
    socket.write_all(request.as_bytes()).await.unwrap();
    socket
}

/// Returns everything that the server sends until the connection ends.
async fn rest(mut socket: TcpStream) -> String {
    let mut bytes = Vec::new();
    match socket.read_to_end(&mut bytes).await {
        Ok(_) => {}
        // A broken connection is an end, too.
        Err(error) => assert_eq!(error.kind(), io::ErrorKind::ConnectionReset),
    }
    String::from_utf8(bytes).unwrap()
}

#[tokio::test]
async fn both_formats_stream_the_script_and_requests_are_recorded() {
    let model = MockLlm::start().await.unwrap();
    for _ in 0..2 {
        model.reply([text("Hello"), tool_call("add", r#"{"a":1}"#)]);
    }
    let said = rest(ask(&model.url(), MESSAGES).await).await;
    for words in ["200 OK", "event: message_start", r#""text":"Hel""#, "toolu_mock_1_1", "event: message_stop"] {
        assert!(said.contains(words), "{words} is missing in {said}");
    }
    let said = rest(ask(&model.url(), COMPLETIONS).await).await;
    for words in [r#""content":"Hel""#, "call_mock_2_1", r#""finish_reason":"tool_calls""#, "data: [DONE]"] {
        assert!(said.contains(words), "{words} is missing in {said}");
    }
    assert_eq!(model.requests()[1].path, COMPLETIONS);
    assert_eq!(model.requests()[0].header("x-test"), Some("1"));
    model.assert_calls_paired();
}

#[tokio::test]
async fn a_cut_answer_has_no_end() {
    let model = MockLlm::start().await.unwrap();
    model.reply([text("Hello"), cut()]);
    let said = rest(ask(&model.url(), COMPLETIONS).await).await;
    assert!(said.contains("Hel") && !said.contains("[DONE]") && !said.ends_with("0\r\n\r\n"), "{said}");
}

#[tokio::test]
async fn a_gate_holds_the_answer_and_detects_a_disconnect() {
    let model = MockLlm::start().await.unwrap();
    let first = model.reply_gated([text("before")], [text("after")]);
    let second = model.reply_gated([text("before")], []);
    let socket = ask(&model.url(), COMPLETIONS).await;
    first.reached().await;
    first.open();
    assert!(rest(socket).await.contains("aft"));

    let socket = ask(&model.url(), COMPLETIONS).await;
    second.reached().await;
    drop(socket);
    second.abandoned().await;
    model.requests_reached(2).await;
}

#[tokio::test]
#[should_panic(expected = "no reply was scripted for request 0")]
async fn an_unscripted_request_fails_loudly() {
    let model = MockLlm::start().await.unwrap();
    assert!(rest(ask(&model.url(), MESSAGES).await).await.contains("500 Internal Server Error"));
    model.assert_calls_paired();
}

#[tokio::test]
async fn without_a_script_the_message_decides_the_reply() {
    let (port, server) = serve_by_hand(0).await.unwrap();
    let said = rest(ask(&format!("127.0.0.1:{port}"), COMPLETIONS).await).await;
    assert!(said.contains(r#""name":"add""#), "{said}");
    server.stop(false).await;
}
