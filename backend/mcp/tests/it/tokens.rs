//! Tests of servers that require a token.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::json;
use tallybook_mcp::{OAuthSettings, ToolServers};
use tallybook_mock_mcp::MockMcp;

use crate::support::{call, connected, failed, failure, pass, settings, start};

fn with_token(mock: &MockMcp, client_id_env: &str) -> ToolServers {
    let mut settings = settings(&json!({ "mock": { "url": mock.url(), "requiresAuth": true, "risk": "low" } }));
    settings.oauth = Some(OAuthSettings {
        token_url: mock.token_url(),
        client_id_env: client_id_env.to_owned(),
        client_secret_env: "CLIENT_SECRET".to_owned(),
        scope: None,
    });
    start(settings)
}

#[tokio::test]
async fn token_expired_under_ten_calls() {
    let mock = MockMcp::start_closed(&[]).await.unwrap();
    let servers = with_token(&mock, "CLIENT_ID");
    connected(&servers).await;
    assert_eq!(mock.tokens_given(), 1);
    mock.expire_tokens();
    let arguments = json!({ "text": "in" });
    let calls = join_all((0..10).map(|_| call(&servers, "echo", &arguments))).await;
    assert!(calls.iter().all(|output| output.as_deref() == Ok("in")), "{calls:?}");
    assert_eq!(mock.tokens_given(), 2, "one new token for all");
}

/// RFC 8707. If an endpoint refuses the parameter, the request is repeated without it.
#[tokio::test]
async fn a_token_is_requested_for_its_server() {
    let mock = MockMcp::start_closed(&[]).await.unwrap();
    connected(&with_token(&mock, "CLIENT_ID")).await;
    let resource = format!("resource=http%3A%2F%2F127.0.0.1%3A{}%2Fmcp", mock.port());
    assert_eq!(mock.token_forms(), [format!("grant_type=client_credentials&{resource}")]);
    mock.refuse_resource();
    connected(&with_token(&mock, "CLIENT_ID")).await;
    assert_eq!(mock.token_forms()[2], "grant_type=client_credentials");
    assert_eq!(mock.tokens_given(), 2);
}

/// A token is renewed five minutes before its expiry, or after half of its lifetime if that is less than five minutes.
#[tokio::test]
async fn a_token_is_renewed_before_it_expires() {
    let minutes = Duration::from_mins;
    for (life, after, tokens) in
        [(3600, minutes(54), 1), (3600, minutes(56), 2), (360, minutes(2), 1), (360, minutes(4), 2)]
    {
        let mock = MockMcp::start_closed(&[]).await.unwrap();
        mock.set_token_life(life);
        let servers = with_token(&mock, "CLIENT_ID");
        connected(&servers).await;
        pass(after).await;
        call(&servers, "echo", &json!({})).await.unwrap();
        assert_eq!(mock.tokens_given(), tokens, "of {life} seconds, after {after:?}");
        assert!(!mock.seen().contains(&"unauthorized".to_owned()), "{:?}", mock.seen());
    }
}

#[tokio::test]
async fn a_call_fails_if_a_new_token_is_rejected_too() {
    let mock = MockMcp::start_closed(&[]).await.unwrap();
    let servers = with_token(&mock, "CLIENT_ID");
    connected(&servers).await;
    mock.take_no_token();
    assert_eq!(failure(&servers, "echo").await, "mcp_auth");
    let received = mock.received();
    let sent = received.iter().filter(|message| message.contains(r#""tools/call""#));
    let tokens: Vec<&str> = sent.filter_map(|message| message.split("Bearer ").nth(1)?.lines().next()).collect();
    assert_eq!(tokens, ["token-1", "token-2"]);
    assert!(failed(&servers).await.error.unwrap().starts_with("the server refused access"));
}

#[tokio::test]
async fn token_endpoint_down() {
    let mock = MockMcp::start_closed(&[]).await.unwrap();
    mock.set_tokens_down(true);
    let servers = with_token(&mock, "CLIENT_ID");
    let error = failed(&servers).await.error.unwrap();
    assert_eq!(error, "the server refused access: the token endpoint failed (HTTP 503)");
    assert!(mock.seen().iter().all(|seen| seen == "token"), "no request is sent without a token: {:?}", mock.seen());
    mock.set_tokens_down(false);
    connected(&servers).await;
    mock.expire_tokens();
    mock.set_tokens_down(true);
    assert_eq!(call(&servers, "echo", &json!({})).await.unwrap_err().error_type, "mcp_auth");
}

#[tokio::test]
async fn a_rejected_client_is_reported_without_its_secret() {
    let mock = MockMcp::start_closed(&[]).await.unwrap();
    let error = failed(&with_token(&mock, "SECRET")).await.error.unwrap();
    assert_eq!(error, "the server refused access: the token endpoint rejected the client ID or secret (HTTP 401)");
}

#[tokio::test]
async fn a_server_that_requires_a_token_is_reported() {
    let mock = MockMcp::start_closed(&[]).await.unwrap();
    let servers = start(settings(&json!({ "mock": { "url": mock.url() } })));
    assert!(failed(&servers).await.error.unwrap().starts_with("the server refused access"));
}
