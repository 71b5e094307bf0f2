//! Slow clients: they get an error or are disconnected, and other clients are not affected.

use std::time::Duration;

use reqwest::StatusCode;
use tallybook::http::Limits;
use tallybook_mock_llm::{MockLlm, text};
use tallybook_protocol::FeedKind;

use crate::support::{Engine, FeedReader, RawConnection, TestApp};

/// Returns limits so short that a test can wait for each of them, and far longer than an honest request takes. The
/// server sends a keep-alive every 50 ms. The clock for the limits on heads and on closing is up to half a second late.
fn short() -> Limits {
    Limits {
        connections: 8,
        head: Duration::from_secs(1),
        body: Duration::from_millis(300),
        idle_timeout: Duration::from_secs(2),
        ..Limits::default()
    }
}

/// Returns the head of a request that declares a body of ten bytes.
fn head(path: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n")
}

async fn open_all(app: &TestApp, count: usize, bytes: &str) -> Vec<RawConnection> {
    let mut connections = Vec::new();
    for _ in 0..count {
        let mut connection = RawConnection::open(app).await;
        connection.send(bytes).await;
        connections.push(connection);
    }
    connections
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_body_is_refused_with_a_reason() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::builder(&Engine::sqlite()).with_mock(&model).with_http_limits(short()).spawn().await;
    let begun = head("/api/conversations") + "{";
    let answer = RawConnection::ask(&app, &begun).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains("content-type: application/problem+json"), "{answer}");
    assert!(answer.contains("/problems/body-too-slow"), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_bodies_do_not_block_other_clients() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::builder(&Engine::sqlite()).with_mock(&model).with_http_limits(short()).spawn().await;
    // Three times the maximum number of connections, of which each worker has at least one.
    let workers = std::thread::available_parallelism().map_or(2, std::num::NonZeroUsize::get);
    let slow = open_all(&app, 3 * workers.max(8), &(head("/api/conversations") + "{")).await;
    assert_eq!(app.get("/healthz").await.status(), StatusCode::OK);
    for mut connection in slow {
        let answer = connection.rest().await;
        assert!(answer.contains("/problems/body-too-slow"), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn endless_heads_and_unread_bodies_are_disconnected() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::builder(&Engine::sqlite()).with_mock(&model).with_http_limits(short()).spawn().await;
    let slow = RawConnection::ask(&app, "GET /healthz HTTP/1.1\r\nHost: loc").await;
    assert!(slow.starts_with("HTTP/1.1 408 "), "{slow}");
    let mut second = RawConnection::open(&app).await;
    second.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    second.until("ok\n").await;
    second.send("GET /he").await;
    assert_eq!(second.rest().await, "");
    let unread = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n";
    let answer = RawConnection::ask(&app, unread).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn event_streams_outlive_every_time_limit() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::builder(&Engine::sqlite()).with_mock(&model).with_http_limits(short()).spawn().await;
    let conversation = app.create_conversation().await;
    let mut feed = FeedReader::open(&app).await;
    let gate = model.reply_gated([text("At ")], [text("last.")]);
    let mut turn = app.send(&conversation, "How long?").await;
    turn.until("content_delta").await;
    // When the server closes this connection, the longest limit has passed.
    let bytes = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nGET /he";
    RawConnection::ask(&app, bytes).await;
    gate.open();
    turn.until("message_end").await;
    app.delete(&conversation).await;
    while feed.next().await.kind != FeedKind::ConversationDeleted {}
}

/// Streams that use all places of streams leave the places for short requests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_leave_room_for_short_requests() {
    let model = MockLlm::start().await.unwrap();
    let limits = Limits { connections: 64, ..Limits::default() };
    let app = TestApp::builder(&Engine::sqlite()).with_mock(&model).with_http_limits(limits).spawn().await;
    let mut streams = Vec::new();
    let refused = loop {
        let stream = app.get("/api/events").await;
        if stream.status() != StatusCode::OK {
            break stream;
        }
        streams.push(stream);
        assert!(streams.len() < 64, "streams take all connections");
    };
    assert!(streams.len() > 32, "{} streams", streams.len());
    assert_eq!(refused.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(app.get("/healthz").await.status(), StatusCode::OK);
    app.create_conversation().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_body_does_not_delay_the_shutdown() {
    let model = MockLlm::start().await.unwrap();
    let limits = Limits { body: Duration::from_hours(1), idle_timeout: Duration::from_hours(1), ..short() };
    let app = TestApp::builder(&Engine::sqlite()).with_mock(&model).with_http_limits(limits).spawn().await;
    let mut slow = RawConnection::open(&app).await;
    // `Expect` makes the server report that it starts to wait for the body.
    slow.send(&head("/api/conversations").replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n{")).await;
    slow.until("100 Continue\r\n\r\n").await;
    app.shut_down().await;
    let answer = slow.rest().await;
    assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("/problems/shutting-down"), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_connection_is_closed_after_its_timeout() {
    let model = MockLlm::start().await.unwrap();
    let limits = Limits { keep_alive: Duration::from_millis(200), idle_timeout: Duration::from_hours(1), ..short() };
    let app = TestApp::builder(&Engine::sqlite()).with_mock(&model).with_http_limits(limits).spawn().await;
    let mut idle = RawConnection::open(&app).await;
    idle.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    idle.until("ok\n").await;
    assert_eq!(idle.rest().await, "");
    assert!(Limits::default().keep_alive > Duration::from_mins(1), "proxies keep idle connections for a minute");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_idle_connection_does_not_delay_the_shutdown() {
    let hour = Duration::from_hours(1);
    let model = MockLlm::start().await.unwrap();
    let limits = Limits { keep_alive: hour, idle_timeout: hour, shutdown: hour, ..short() };
    let app = TestApp::builder(&Engine::sqlite()).with_mock(&model).with_http_limits(limits).spawn().await;
    let mut idle = RawConnection::open(&app).await;
    idle.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").await;
    idle.until("ok\n").await;
    app.shut_down().await;
    assert_eq!(idle.rest().await, "");
}
