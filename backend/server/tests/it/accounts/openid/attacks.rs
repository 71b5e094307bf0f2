//! Attacks on sign-in with an identity provider: forged proof, callbacks of another browser, planted sessions, and
//! redirects to other sites.

use std::time::Duration;

use reqwest::{Method, StatusCode, Url};
use serde_json::{Value, json};
use tallybook_accounts::{OpenIdSettings, SignUp};

use super::{
    super::kit::{ADMIN, BLOCKED, PASSWORD, kind_of},
    assert_refused,
    browser::{Browser, location},
    provider::{Fault, MockIdentityProvider, Person},
    team,
};
use crate::support::{Engine, eventually, execute, on_every_engine, rows};

on_every_engine! {
    /// A successful sign-in takes back its own attempt only: it does not end the block that failed attempts from the
    /// same address began while the provider was working.
    async fn a_slow_sign_in_does_not_end_the_block_of_its_address(engine: Engine) {
        const MAX_GUESSES: usize = 40;
        let provider = MockIdentityProvider::start().await;
        let openid = OpenIdSettings { timeout: Duration::from_mins(1), ..provider.settings() };
        let team = team(&engine, SignUp::Open, openid).await;
        provider.fail(Fault::SlowToken);
        let mut browser = Browser::new(&team);
        let guess = async || {
            eventually("the sign-in waits for the provider", async || {
                rows!(team.app, (i32,), "SELECT failures FROM sign_in_attempts") == [(1,)]
            })
            .await;
            let mut guesses = 0;
            while team.try_sign_in(&format!("guess{guesses}"), "a wrong password").await.status() != 429 {
                guesses += 1;
                assert!(guesses < MAX_GUESSES, "an address has a limit");
            }
            execute!(team.app, BLOCKED);
            provider.fail(Fault::None);
        };
        let (signed_in, ()) = tokio::join!(browser.sign_in("/sign-in/away"), guess());
        assert_eq!(signed_in.status(), StatusCode::SEE_OTHER);
        assert_eq!(team.try_sign_in(ADMIN, PASSWORD).await.status(), StatusCode::TOO_MANY_REQUESTS);
    }

    /// A response that does not prove the user's identity signs no one in and stores no account and no identity.
    async fn invalid_provider_responses_sign_no_user_in(engine: Engine) {
        let provider = MockIdentityProvider::start().await;
        let team = team(&engine, SignUp::Open, provider.settings()).await;
        for fault in [
            Fault::WrongNonce,
            Fault::WrongAudience,
            Fault::WrongIssuer,
            Fault::Expired,
            Fault::WrongSignature,
            Fault::NoIdToken,
            Fault::WrongAccessToken,
            Fault::BadSubject,
        ] {
            provider.fail(fault);
            let mut browser = Browser::new(&team);
            let answer = browser.sign_in("/sign-in/away").await;
            assert_refused(&mut browser, answer, 401, "does not prove your identity").await;
        }
        // Each failure counts like a wrong password.
        assert_eq!(rows!(team.app, (i32,), "SELECT failures FROM sign_in_attempts"), [(8,)]);
        provider.fail(Fault::Denied);
        let mut browser = Browser::new(&team);
        let answer = browser.sign_in("/sign-in/away").await;
        assert_refused(&mut browser, answer, 401, "did not sign you in").await;
        assert_eq!(rows!(team.app, (i64,), "SELECT COUNT(*) FROM identities"), [(0,)]);
        assert_eq!(rows!(team.app, (i64,), "SELECT COUNT(*) FROM users"), [(1,)]);
        provider.fail(Fault::None);
        assert_eq!(browser.sign_in("/sign-in/away").await.status(), StatusCode::SEE_OTHER);
    }

    /// A callback works once, only in the browser that started the sign-in, and only for the purpose of that sign-in.
    async fn a_callback_works_once_in_one_browser(engine: Engine) {
        let provider = MockIdentityProvider::start().await;
        let team = team(&engine, SignUp::Open, provider.settings()).await;
        let stale = "was started in another browser";
        let mut browser = Browser::new(&team);
        let back = browser.depart("/sign-in/away").await;
        // An attacker who knows the callback address has no cookie, or has the cookie of another sign-in.
        let mut thief = Browser::new(&team);
        let answer = thief.get(&back).await;
        assert_refused(&mut thief, answer, 400, stale).await;
        thief.depart("/sign-in/away").await;
        let answer = thief.get(&back).await;
        assert_refused(&mut thief, answer, 400, stale).await;
        // A callback does not match the cookie of another sign-in in the same browser either.
        let held = browser.cookies.clone();
        let other = browser.depart("/sign-in/away?next=%2Fother").await;
        let answer = browser.get(&back).await;
        assert_refused(&mut browser, answer, 400, stale).await;
        browser.cookies.clone_from(&held);
        let answer = browser.get(&other).await;
        assert_refused(&mut browser, answer, 400, stale).await;
        // A changed cookie is detected, such as one with another address to return to.
        for (name, value) in &held {
            let changed = format!("{}.s{}", value.rsplit_once('.').unwrap().0, "2f63");
            browser.cookies.insert(name.clone(), changed);
        }
        let answer = browser.get(&back).await;
        assert_refused(&mut browser, answer, 400, stale).await;

        browser.cookies.clone_from(&held);
        let wrong = back.replace(&provider.url().replace(':', "%3A").replace('/', "%2F"), "https%3A%2F%2Fevil.example");
        assert_ne!(wrong, back);
        let answer = browser.get(&wrong).await;
        assert_refused(&mut browser, answer, 401, "does not prove").await;
        browser.cookies.clone_from(&held);
        assert_eq!(browser.get(&back).await.status(), StatusCode::SEE_OTHER);
        // A replay fails, with the cookie and without it.
        let mut replay = Browser::new(&team);
        let answer = replay.get(&back).await;
        assert_refused(&mut replay, answer, 400, stale).await;
        replay.cookies = held;
        let answer = replay.get(&back).await;
        assert_refused(&mut replay, answer, 401, "does not prove").await;
    }

    /// A linked identity gives permanent access, so a session alone cannot link one. An attacker who finds an open
    /// session does not know the password, and the cookie that the browser holds during linking proves nothing.
    async fn a_session_alone_cannot_link_an_identity(engine: Engine) {
        let provider = MockIdentityProvider::start().await;
        let team = team(&engine, SignUp::Open, provider.settings()).await;
        let root = team.sign_in(ADMIN).await;
        let mut thief = Browser::of(&team, &root);
        for password in ["", "not the password"] {
            let refused = thief.ask_to_link(password).await;
            assert_eq!((refused.status(), kind_of(refused).await.as_str()), (StatusCode::FORBIDDEN, "/problems/wrong-password"));
        }
        // Without a recent and unused password confirmation in the session, the callback links nothing.
        let mut owner = Browser::of(&team, &root);
        for (subject, forget) in [("s-1", true), ("s-1", false), ("s-2", true)] {
            provider.person(Person::named(subject));
            let back = owner.begin_linking().await;
            if forget {
                execute!(team.app, "UPDATE sessions SET confirmed_at = NULL");
            }
            let status = if forget { StatusCode::BAD_REQUEST } else { StatusCode::SEE_OTHER };
            assert_eq!(owner.get(&back).await.status(), status, "{subject}");
        }
        assert_eq!(rows!(team.app, (i64,), "SELECT COUNT(*) FROM sessions WHERE confirmed_at IS NOT NULL"), [(0,)]);
        assert_eq!(rows!(team.app, (String,), "SELECT subject FROM identities"), [("s-1".to_owned(),)]);

        // A user without a password must have just signed in.
        provider.person(Person::named("s-3"));
        let mut first = Browser::new(&team);
        assert_eq!(first.sign_in("/sign-in/away").await.status(), StatusCode::SEE_OTHER);
        provider.person(Person::named("s-4"));
        let back = first.begin_linking_with("").await;
        assert_eq!(first.get(&back).await.status(), StatusCode::SEE_OTHER);
        team.age_sessions().await;
        let refused = first.ask_to_link("").await;
        assert_eq!((refused.status(), kind_of(refused).await.as_str()), (StatusCode::FORBIDDEN, "/problems/sign-in-again"));
        // Wrong passwords count here as they do at sign-in.
        for _ in 0..10 {
            thief.ask_to_link("not the password").await;
        }
        execute!(team.app, BLOCKED);
        assert_eq!(thief.ask_to_link(PASSWORD).await.status(), StatusCode::TOO_MANY_REQUESTS);
    }

    /// An attacker who plants a session cookie does not share the victim's session, and cannot link an identity to the
    /// victim's account.
    async fn a_planted_session_is_replaced_at_sign_in(engine: Engine) {
        let provider = MockIdentityProvider::start().await;
        let team = team(&engine, SignUp::Open, provider.settings()).await;
        let mut victim = Browser::new(&team);
        let planted = "a".repeat(64);
        victim.cookies.insert("tallybook_session".to_owned(), planted.clone());
        assert_eq!(victim.sign_in("/sign-in/away").await.status(), StatusCode::SEE_OTHER);
        assert_ne!(victim.cookies["tallybook_session"], planted);
        let first = victim.who();
        // A new sign-in ends the previous session.
        assert_eq!(victim.sign_in("/sign-in/away").await.status(), StatusCode::SEE_OTHER);
        assert_eq!(team.get(&first, "/api/me").await.status(), StatusCode::UNAUTHORIZED);

        // A linking that the attacker started cannot be completed in the victim's session, even with the attacker's
        // cookie.
        let root = team.sign_in(ADMIN).await;
        let (mallory, _) = team.user(&root, "mallory").await;
        let mut attacker = Browser::of(&team, &mallory);
        provider.person(Person::named("attacker"));
        let back = attacker.begin_linking().await;
        let mut victim = Browser::of(&team, &root);
        victim.cookies.insert("tallybook_sign_in".to_owned(), attacker.cookies["tallybook_sign_in"].clone());
        let refused = victim.get(&back).await;
        assert_eq!(refused.status(), StatusCode::BAD_REQUEST);
        let list = team.json(&root, Method::GET, "/api/identities", Value::Null, 200).await;
        assert_eq!(list["items"], json!([]));
        // Pages of other sites cannot start a linking either.
        let begin = team.request(&root, Method::POST, "/api/identities").json(&json!({"password": PASSWORD}));
        let begin = begin.header("origin", "https://evil.example");
        assert_eq!(begin.send().await.unwrap().status(), StatusCode::FORBIDDEN);
    }
}

/// The browser is never redirected to another site.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn callbacks_never_redirect_to_other_sites() {
    let provider = MockIdentityProvider::start().await;
    let team = team(&Engine::sqlite(), SignUp::Open, provider.settings()).await;
    let long = format!("/{}", "a".repeat(2000));
    for (next, leads_to) in [
        ("https://evil.example/", "/"),
        ("//evil.example", "/"),
        ("/\\evil.example", "/"),
        ("javascript:alert(1)", "/"),
        (long.as_str(), "/"),
        ("/c/1?a=%62#x", "/c/1?a=%62#x"),
    ] {
        let query = url::form_urlencoded::Serializer::new(String::new()).append_pair("next", next).finish();
        let answer = Browser::new(&team).sign_in(&format!("/sign-in/away?{query}")).await;
        assert_eq!((answer.status(), location(&answer).as_str()), (StatusCode::SEE_OTHER, leads_to), "{next}");
    }
}

/// The browser sends the sign-in cookie to this host alone, and its secret is not in the address of the authorization
/// request.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sign_in_cookie_is_sent_only_to_this_host() {
    let provider = MockIdentityProvider::start().await;
    let team = team(&Engine::sqlite(), SignUp::Open, provider.settings()).await;
    let mut browser = Browser::new(&team);
    let answer = browser.get("/sign-in/away").await;
    let cookie = answer.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax") && cookie.contains("Max-Age=600"),
        "{cookie}"
    );
    let address = Url::parse(&location(&answer)).unwrap();
    let secret = browser.cookies["tallybook_sign_in"].split('.').next().unwrap().to_owned();
    assert!(secret.len() == 64 && !address.as_str().contains(&secret), "{address}");
}
