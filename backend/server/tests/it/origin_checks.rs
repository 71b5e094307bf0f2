//! Requests that pages of other sites may make a browser send: they are refused before any route sees them.

use std::{
    io::{Read, Write},
    net::TcpStream,
    time::Duration,
};

use reqwest::{Response, StatusCode};
use serde_json::{Value, json};
use tallybook::http;
use tallybook_mock_llm::MockLlm;

use crate::support::{Engine, RawConnection, TestApp};

async fn assert_refused(response: Response, kind: &str, advice: &str) {
    assert_eq!(response.status(), StatusCode::FORBIDDEN);
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    assert_guarded(&response);
    let id = response.headers()["x-request-id"].to_str().unwrap().to_owned();
    let problem: Value = response.json().await.unwrap();
    assert_eq!(problem["type"], format!("/problems/{kind}"), "{problem}");
    assert_eq!(problem["request_id"], id);
    assert!(problem["detail"].as_str().unwrap().contains(advice), "{problem}");
}

fn assert_guarded(response: &Response) {
    let headers = response.headers();
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert_eq!(headers["referrer-policy"], "same-origin");
    assert_eq!(headers["cross-origin-opener-policy"], "same-origin");
    assert_eq!(headers["cross-origin-resource-policy"], "same-origin");
    assert!(headers["permissions-policy"].to_str().unwrap().contains("camera=()"));
    let policy = headers["content-security-policy"].to_str().unwrap();
    for part in ["default-src 'none'; ", "base-uri 'none'", "frame-ancestors 'none'"] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(
        !policy.contains("unsafe-inline") && !policy.contains("'unsafe-eval'") && !policy.contains('*'),
        "{policy}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_host_name_is_refused() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    for path in ["/", "/api/conversations", "/pkg/tallybook.js", "/metrics", "/nowhere"] {
        let rebound = app.client.get(app.url(path)).header("host", "rebound.example:3000").send().await.unwrap();
        assert_refused(rebound, "foreign-host", "HOST").await;
    }
    let port = app.address.rsplit(':').next().unwrap();
    let named = app.client.get(app.url("/healthz")).header("host", format!("localhost:{port}")).send().await.unwrap();
    assert_eq!(named.status(), StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_without_a_host_is_refused() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let address = app.address.trim_start_matches("http://").to_owned();
    let asked = tokio::task::spawn_blocking(move || {
        let mut connection = TcpStream::connect(address).unwrap();
        connection.write_all(b"GET /api/conversations HTTP/1.0\r\n\r\n").unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        answer
    });
    let answer = asked.await.unwrap();
    assert!(answer.contains(" 403 ") && answer.contains("foreign-host"), "{answer}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn requests_from_other_sites_are_refused() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let create = |origin: String| {
        app.client.post(app.url("/api/conversations")).header("origin", origin).json(&json!({})).send()
    };
    for origin in ["https://example.com", "http://127.0.0.1:1", "null"] {
        assert_refused(create(origin.to_owned()).await.unwrap(), "foreign-origin", "proxy").await;
    }
    assert!(app.get_json("/api/conversations").await["items"].as_array().unwrap().is_empty());
    let own = create(app.address.clone()).await.unwrap();
    assert_eq!(own.status(), StatusCode::CREATED);
    assert_guarded(&own);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_response_has_the_security_headers() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    for path in
        ["/", "/c/nonsense", "/nowhere", "/healthz", "/metrics", "/api/tools", "/api/nowhere", "/pkg/nothing.js"]
    {
        assert_guarded(&app.get(path).await);
    }
}

/// Without the setting, the server leaves this header to a proxy.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hsts_is_sent_only_if_configured() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    assert!(!app.get("/healthz").await.headers().contains_key("strict-transport-security"));
    let limits = http::Limits { hsts: Duration::from_hours(365 * 24), ..http::Limits::default() };
    let app = TestApp::builder(&Engine::sqlite()).with_mock(&model).with_http_limits(limits).spawn().await;
    assert_eq!(app.get("/healthz").await.headers()["strict-transport-security"], "max-age=31536000");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_host_of_an_absolute_url_is_checked_too() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let ask = async |first_line: &str, headers: &str| {
        RawConnection::ask(&app, &format!("{first_line}\r\n{headers}Connection: close\r\n\r\n")).await
    };
    let own = ask("GET http://localhost:1/healthz HTTP/1.1", "Host: localhost:1\r\n").await;
    assert!(own.starts_with("HTTP/1.1 200 "), "{own}");
    for (first_line, headers) in [
        ("GET http://rebound.example/api/models HTTP/1.1", "Host: localhost\r\n"),
        ("GET http://localhost:2/api/models HTTP/1.1", "Host: localhost:1\r\n"),
        ("GET http://localhost/api/models HTTP/1.1", "Host: rebound.example\r\n"),
        ("GET http://rebound.example/api/models HTTP/1.0", ""),
        ("GET /api/models HTTP/1.1", "Host:\r\n"),
        ("GET /api/models HTTP/1.1", "Host: evil@localhost\r\n"),
    ] {
        let refused = ask(first_line, headers).await;
        assert!(refused.contains(" 403 ") && refused.contains("foreign-host"), "{first_line} {headers}: {refused}");
    }
    for version in ["1.0", "1.1"] {
        let first_line = format!("GET /healthz HTTP/{version}");
        let two = ask(&first_line, "Host: localhost\r\nHost: rebound.example\r\n").await;
        assert!(two.contains(" 400 "), "{two}");
    }
}
