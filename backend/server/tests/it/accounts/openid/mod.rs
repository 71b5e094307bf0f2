//! Sign-in with OpenID Connect, at an identity provider that the test runs (`provider`): users who can sign in
//! (`linking`), their groups (`groups`), attacks (`attacks`), providers that fail (`outages`), and providers that send
//! odd types (`lenient`).

mod attacks;
mod browser;
#[cfg(unix)]
mod canary;
mod groups;
mod key;
mod lenient;
mod linking;
mod outages;
mod provider;

pub(crate) use key::base64;

use reqwest::Response;
use tallybook_accounts::{AccountsSettings, OpenIdSettings, SignUp};
use tallybook_mock_llm::MockLlm;

use self::browser::Browser;
use super::kit::{Team, required};
use crate::support::Engine;

fn settings(sign_up: SignUp, openid: OpenIdSettings) -> AccountsSettings {
    AccountsSettings { sign_up, openid: Some(openid), ..required() }
}

async fn team(engine: &Engine, sign_up: SignUp, openid: OpenIdSettings) -> Team {
    Team::start_with(engine, &MockLlm::start().await.unwrap(), settings(sign_up, openid)).await
}

/// Fails unless the response refuses the sign-in with this text on the sign-in page, and the browser is not signed in.
async fn assert_refused(browser: &mut Browser<'_>, response: Response, status: u16, words: &str) {
    assert_eq!(response.status().as_u16(), status, "{words}");
    let html = response.text().await.unwrap();
    assert!(html.contains(words) && html.contains("name=\"password\""), "{words} is not in {html}");
    assert_eq!(browser.name().await, None, "{words}");
    assert!(browser.cookies.is_empty(), "{:?}", browser.cookies);
}
