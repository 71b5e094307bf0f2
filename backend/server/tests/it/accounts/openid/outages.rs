//! Identity providers that are down, slow, changed or not configured: the page shows a message, and everything else
//! keeps working.

use std::time::Duration;

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tallybook_accounts::{OpenIdSettings, SignUp};
use tallybook_mock_llm::MockLlm;

use super::{
    super::kit::{ADMIN, PASSWORD, Team},
    assert_refused,
    browser::Browser,
    provider::{Fault, MockIdentityProvider},
    team,
};
use crate::support::{Engine, UNREACHABLE, eventually};

/// If the provider is down or sends invalid metadata, the page shows a message and passwords still work. Once the
/// provider is back, sign-in with it works again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unusable_provider_shows_a_message() {
    let provider = MockIdentityProvider::start().await;
    for fault in [Fault::Down, Fault::Slow, Fault::Huge, Fault::Redirects, Fault::OtherIssuer, Fault::ScriptPage] {
        provider.fail(fault);
        let openid = OpenIdSettings { timeout: Duration::from_millis(500), ..provider.settings() };
        let team = team(&Engine::sqlite(), SignUp::Open, openid).await;
        let before = provider.described();
        let mut browser = Browser::new(&team);
        for _ in 0..3 {
            let answer = browser.get("/sign-in/away").await;
            assert_refused(&mut browser, answer, 503, "is unreachable").await;
        }
        assert!(provider.described() - before < 3, "{fault:?}: the server pauses its requests");
        team.sign_in(ADMIN).await;
        provider.fail(Fault::None);
        eventually("the server retries", async || browser.get("/sign-in/away").await.status() == StatusCode::SEE_OTHER)
            .await;
    }
}

/// If a code cannot be redeemed, the page shows the same message.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_code_that_cannot_be_redeemed_shows_a_message() {
    let provider = MockIdentityProvider::start().await;
    for fault in [Fault::SlowToken, Fault::PlainToken] {
        provider.fail(fault);
        let openid = OpenIdSettings { timeout: Duration::from_millis(500), ..provider.settings() };
        let team = team(&Engine::sqlite(), SignUp::Open, openid).await;
        let mut browser = Browser::new(&team);
        let answer = browser.sign_in("/sign-in/away").await;
        assert_refused(&mut browser, answer, 503, "is unreachable").await;
    }
}

/// Failed sign-ins with the provider, because of an outage or because the user has no account, never delay sign-ins
/// from the same address.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn passwords_work_during_a_provider_outage() {
    let provider = MockIdentityProvider::start().await;
    let outage = (Fault::PlainToken, 503, "is unreachable");
    let stranger = (Fault::None, 403, "No account is linked to your identity");
    for (fault, status, words) in [outage, stranger] {
        provider.fail(fault);
        let team = team(&Engine::sqlite(), SignUp::default(), provider.settings()).await;
        let mut browser = Browser::new(&team);
        for _ in 0..25 {
            let answer = browser.sign_in("/sign-in/away").await;
            assert_refused(&mut browser, answer, status, words).await;
        }
        team.sign_in(ADMIN).await;
    }
}

/// Nothing listens at the provider's address, but the server starts and serves requests.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_server_starts_without_a_reachable_provider() {
    let provider = MockIdentityProvider::start().await;
    let openid = OpenIdSettings { issuer: format!("http://{UNREACHABLE}"), ..provider.settings() };
    let team = team(&Engine::sqlite(), SignUp::Open, openid).await;
    let mut browser = Browser::new(&team);
    let request = team.client.get(team.app.url("/sign-in/away")).header("accept-language", "ja");
    let html = request.send().await.unwrap().text().await.unwrap();
    assert!(html.contains("接続できません") && html.contains("&#60;ID&#62;でサインイン"), "{html}");
    let answer = browser.get("/sign-in/away").await;
    assert_refused(&mut browser, answer, 503, "is unreachable").await;
}

/// Without a configured provider, the page does not mention it, and its routes return 404.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_provider_the_page_offers_none() {
    let team = Team::start(&Engine::sqlite(), &MockLlm::start().await.unwrap()).await;
    let mut browser = Browser::new(&team);
    let page = browser.get("/sign-in").await.text().await.unwrap();
    assert!(!page.contains("/sign-in/away"), "{page}");
    assert_eq!(browser.get("/sign-in/away").await.status(), StatusCode::NOT_FOUND);
    let root = team.sign_in(ADMIN).await;
    let me = team.json(&root, Method::GET, "/api/me", Value::Null, 200).await;
    assert_eq!(me["issuer"], Value::Null);
    team.json(&root, Method::POST, "/api/identities", json!({"password": PASSWORD}), 404).await;
}

/// If a token is signed with an unknown key, the server fetches the keys again, but at most once a minute.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unknown_signing_keys_are_fetched_once_a_minute() {
    let provider = MockIdentityProvider::start().await;
    let team = team(&Engine::sqlite(), SignUp::Open, provider.settings()).await;
    assert_eq!(Browser::new(&team).sign_in("/sign-in/away").await.status(), StatusCode::SEE_OTHER);
    let described = provider.described();
    provider.rotate();
    assert_eq!(Browser::new(&team).sign_in("/sign-in/away").await.status(), StatusCode::SEE_OTHER);
    assert_eq!(provider.described(), described + 1);
    provider.rotate();
    for _ in 0..3 {
        let mut browser = Browser::new(&team);
        let answer = browser.sign_in("/sign-in/away").await;
        assert_refused(&mut browser, answer, 401, "does not prove").await;
    }
    assert_eq!(provider.described(), described + 1, "the server does not retry within a minute");
}
