//! Unauthenticated users cannot lock users out. Their attempts are recorded, but limited in number.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tallybook_accounts::AccountsSettings;
use tallybook_mock_llm::{MockLlm, text};

use super::kit::{ADMIN, BLOCKED, PASSWORD, Team, Who, cookie_of, kind_of, required};
use crate::support::{Engine, execute, on_every_engine, rows};

/// Starts a team behind a proxy that reports the addresses of clients.
async fn behind_proxy(engine: &Engine) -> Team {
    let settings = AccountsSettings { trusted_proxies: vec!["127.0.0.1/32".parse().unwrap()], ..required() };
    Team::start_with(engine, &MockLlm::start().await.unwrap(), settings).await
}

/// Signs in from an address, with a browser's cookie.
async fn sign_in(team: &Team, address: &str, cookie: Option<&str>, password: &str) -> reqwest::Response {
    let who = Who { cookie: cookie.map(str::to_owned), key: None };
    let request = team.request(&who, Method::POST, "/api/session").header("x-forwarded-for", address);
    request.json(&json!({"name": ADMIN, "password": password})).send().await.unwrap()
}

/// Returns the cookie that identifies a known browser after a sign-in.
fn known_browser(response: &reqwest::Response) -> String {
    let cookies = response.headers().get_all("set-cookie").iter().map(|cookie| cookie.to_str().unwrap());
    let cookie =
        cookies.into_iter().find(|cookie| cookie.starts_with("tallybook_browser=")).expect("a browser is known");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
    cookie.split(';').next().unwrap().to_owned()
}

on_every_engine! {
    /// Failures elsewhere do not block the right password.
    async fn failures_elsewhere_do_not_lock_a_user_out(engine: Engine) {
        let team = behind_proxy(&engine).await;
        let known = known_browser(&sign_in(&team, "192.0.2.1", None, PASSWORD).await);
        for number in 0..40 {
            let refused = sign_in(&team, &format!("198.51.100.{}", number % 4), None, "a wrong password").await;
            assert!(matches!(refused.status().as_u16(), 401 | 429), "{}", refused.status());
        }
        // Extends all delays beyond the duration of this test.
        execute!(team.app, BLOCKED);
        let stranger = sign_in(&team, "198.51.100.1", None, PASSWORD).await;
        assert_eq!(kind_of(stranger).await, "/problems/too-many-attempts");
        // The right password works from another address, and in a known browser from any address.
        assert_eq!(sign_in(&team, "192.0.2.9", None, PASSWORD).await.status(), StatusCode::OK);
        let again = sign_in(&team, "198.51.100.1", Some(&known), PASSWORD).await;
        assert_eq!((again.status(), known_browser(&again)), (StatusCode::OK, known.clone()));

        // A signed-in user who confirms something with the password is not locked out either.
        let who = Who { cookie: cookie_of(&again), key: None };
        let confirmed = team.request(&who, Method::PUT, "/api/me/password").header("x-forwarded-for", "192.0.2.1");
        let confirmed = confirmed.json(&json!({"current": PASSWORD, "new": PASSWORD})).send().await.unwrap();
        assert_eq!(confirmed.status(), StatusCode::NO_CONTENT);
    }

    /// A known browser is known for its own user only, and has its own counter of failures.
    async fn a_known_browser_allows_no_more_guesses(engine: Engine) {
        let team = behind_proxy(&engine).await;
        let admin = team.sign_in(ADMIN).await;
        team.user(&admin, "mallory").await;
        let known = known_browser(&sign_in(&team, "192.0.2.1", None, PASSWORD).await);
        let theirs = known_browser(&team.try_sign_in("mallory", PASSWORD).await);
        for cookie in [&known, &theirs] {
            for _ in 0..10 {
                sign_in(&team, "192.0.2.7", Some(cookie), "a wrong password").await;
            }
            execute!(team.app, BLOCKED);
            let refused = sign_in(&team, "192.0.2.7", Some(cookie), PASSWORD).await;
            assert_eq!(kind_of(refused).await, "/problems/too-many-attempts", "{cookie}");
        }
        // The database contains nothing that a browser could send as its cookie.
        let hashes = rows!(team.app, (String,), "SELECT token_hash FROM known_browsers");
        assert!(hashes.iter().all(|(hash,)| !known.contains(hash) && !theirs.contains(hash)), "{hashes:?}");
    }

    /// Failures for one name are delayed even if each comes from another address.
    async fn guesses_of_one_name_are_delayed_from_any_address(engine: Engine) {
        let team = behind_proxy(&engine).await;
        sign_in(&team, "198.51.100.1", None, "a wrong password").await;
        execute!(team.app, "UPDATE sign_in_attempts SET failures = 100");
        let next = sign_in(&team, "198.51.100.2", None, "a wrong password").await;
        assert_eq!(next.status(), StatusCode::UNAUTHORIZED);
        let failures = rows!(team.app, (i32,), "SELECT MAX(failures) FROM sign_in_attempts WHERE blocked_until IS NOT NULL");
        assert_eq!(failures, [(101,)]);
    }

    async fn failed_sign_ins_are_recorded_once_an_hour(engine: Engine) {
        let team = behind_proxy(&engine).await;
        let admin = team.sign_in(ADMIN).await;
        team.user(&admin, "ann").await;
        for _ in 0..3 {
            sign_in(&team, "192.0.2.1", None, "a wrong password").await;
            sign_in(&team, "192.0.2.2", None, "a wrong password").await;
            let unknown = team.request(&Who::default(), Method::POST, "/api/session").header("x-forwarded-for", "192.0.2.3");
            unknown.json(&json!({"name": "my secret password", "password": "x"})).send().await.unwrap();
        }
        let noted = "SELECT user_id, subject FROM audit_log WHERE action = 'sign_in_failed' ORDER BY id";
        let expected = [(1, "192.0.2.1"), (1, "192.0.2.2"), (0, "192.0.2.3")];
        assert_eq!(rows!(team.app, (i64, String), noted), expected.map(|(user, address)| (user, address.to_owned())));

        // At the limit of 500 records per hour, further failures are not recorded.
        let values = (0..500).map(|number| format!("(0, 'sign_in_failed', 'x{number}', '2036-01-01 00:00:00')"));
        let values = values.collect::<Vec<_>>().join(", ");
        let sql = format!("INSERT INTO audit_log (user_id, action, subject, created_at) VALUES {values}");
        execute!(team.app, sqlx::AssertSqlSafe(sql));
        sign_in(&team, "192.0.2.4", None, "a wrong password").await;
        assert_eq!(rows!(team.app, (i64, String), noted).len(), 503);
    }

    async fn refused_requests_and_public_links_are_recorded(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let (ann, id) = team.user(&admin, "ann").await;
        let program = team.program(&admin).await;
        for _ in 0..3 {
            for path in ["/api/users", "/api/users/1", "/api/users/2", "/admin"] {
                assert_eq!(team.get(&ann, path).await.status(), StatusCode::FORBIDDEN);
            }
            assert_eq!(team.get(&program, "/api/users").await.status(), StatusCode::FORBIDDEN);
        }
        let noted = "SELECT user_id, subject FROM audit_log WHERE action = 'request_refused' ORDER BY id";
        let expected = [(id, "GET /api/users"), (id, "GET /api/users/{user_id}"), (id, "GET /admin"), (1, "GET /api/users")];
        assert_eq!(rows!(team.app, (i64, String), noted), expected.map(|(user, request)| (user, request.to_owned())));

        let uuid = team.conversation(&ann).await;
        model.reply([text("Yes.")]);
        team.ask(&ann, &uuid, "Go?").await;
        team.json(&ann, Method::POST, &format!("/api/conversations/{uuid}/shares"), json!({}), 201).await;
        let shared = rows!(team.app, (i64, String), "SELECT user_id, subject FROM audit_log WHERE action = 'conversation_shared'");
        assert_eq!(shared, [(id, uuid)]);
    }

    /// Users see admins' changes of their account, but not their own changes.
    async fn users_see_admins_changes_of_their_account(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let admin = team.sign_in(ADMIN).await;
        let (mut ann, id) = team.user(&admin, "ann").await;
        team.program(&ann).await;
        let other = "another one of some length";
        team.json(&ann, Method::PUT, "/api/me/password", json!({"current": PASSWORD, "new": other}), 204).await;
        let access_log = async |who: &Who| team.json(who, Method::GET, "/api/looks", Value::Null, 200).await["items"].clone();
        assert_eq!(access_log(&ann).await, json!([]));
        let path = format!("/api/users/{id}");
        let keys = team.json(&admin, Method::GET, &format!("{path}/keys"), Value::Null, 200).await;
        team.json(&admin, Method::DELETE, &format!("{path}/keys/{}", keys["items"][0]["id"]), Value::Null, 204).await;
        team.json(&admin, Method::PATCH, &path, json!({"password": PASSWORD}), 200).await;
        ann = team.sign_in("ann").await;
        let seen = access_log(&ann).await;
        let records: Vec<_> = seen.as_array().unwrap().iter().map(|record| (record["kind"].clone(), record["by"].clone())).collect();
        assert_eq!(records, [(json!("password_changed"), json!(ADMIN)), (json!("keys_revoked"), json!(ADMIN))]);
        assert_eq!(access_log(&admin).await, json!([]), "other users see none of it");
    }

    /// Requests that another site's page makes a browser send sign no user in, even without an `Origin` header.
    async fn other_sites_cannot_sign_a_user_in(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let form = format!("name={ADMIN}&password={}", PASSWORD.replace(' ', "+"));
        for site in ["cross-site", "same-site"] {
            for path in ["/sign-in", "/setup", "/invitation", "/sign-out"] {
                let request = team.request(&Who::default(), Method::POST, path).header("sec-fetch-site", site);
                let request = request.header("content-type", "application/x-www-form-urlencoded").body(form.clone());
                assert_eq!(kind_of(request.send().await.unwrap()).await, "/problems/foreign-origin", "{path}");
            }
            let request = team.request(&Who::default(), Method::POST, "/api/session").header("sec-fetch-site", site);
            let answer = request.json(&json!({"name": ADMIN, "password": PASSWORD})).send().await.unwrap();
            assert_eq!(kind_of(answer).await, "/problems/foreign-origin");
        }
        for site in ["same-origin", "none"] {
            let request = team.request(&Who::default(), Method::POST, "/sign-in").header("sec-fetch-site", site);
            let request = request.header("content-type", "application/x-www-form-urlencoded").body(form.clone());
            assert_eq!(request.send().await.unwrap().status(), StatusCode::SEE_OTHER, "{site}");
        }
        assert_eq!(team.get(&Who::default(), "/sign-in").await.status(), StatusCode::OK);
    }
}
