//! Sign-in, sign-out, and attacks on them.

use std::time::Duration;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use sqlx::AssertSqlSafe;
use tallybook_accounts::AccountsSettings;
use tallybook_mock_llm::MockLlm;

use super::kit::{ADMIN, BLOCKED, PASSWORD, Team, Who, cookie_of, kind_of, required};
use crate::{
    bad_input::assert_problem,
    support::{Engine, eventually, execute, on_every_engine, rows},
};

/// Encodes fields like a form.
fn form(fields: &[(&str, &str)]) -> String {
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(fields).finish()
}

/// Message of the sign-in form in a browser whose user was deactivated.
const DEACTIVATED: &str = "An admin deactivated your account.";

on_every_engine! {
    async fn a_session_starts_at_sign_in_and_ends_at_sign_out(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let first = team.sign_in(ADMIN).await;
        let second = team.sign_in(ADMIN).await;
        assert_ne!(first.cookie, second.cookie);
        let list = team.json(&first, Method::GET, "/api/sessions", Value::Null, 200).await;
        let items = list["items"].as_array().unwrap();
        assert_eq!(items.len(), 2);
        assert_eq!(items.iter().filter(|session| session["current"] == true).count(), 1);
        assert_eq!(items[0]["address"], "127.0.0.1");

        // After a sign-out, the old session cookie is refused every time.
        let out = team.send(&first, Method::DELETE, "/api/session", Value::Null).await;
        assert_eq!(out.status(), StatusCode::NO_CONTENT);
        assert!(out.headers()["set-cookie"].to_str().unwrap().contains("Max-Age=0"));
        for _ in 0..2 {
            assert_eq!(team.get(&first, "/api/conversations").await.status(), StatusCode::UNAUTHORIZED);
        }
        assert_eq!(team.get(&second, "/api/conversations").await.status(), StatusCode::OK);
        let third = team.sign_in(ADMIN).await;
        team.json(&second, Method::DELETE, "/api/sessions", Value::Null, 204).await;
        for who in [&second, &third] {
            assert_eq!(team.get(who, "/api/conversations").await.status(), StatusCode::UNAUTHORIZED);
        }
    }

    async fn ending_a_session_is_recorded(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let (first, second) = (team.sign_in(ADMIN).await, team.sign_in(ADMIN).await);
        let list = team.json(&first, Method::GET, "/api/sessions", Value::Null, 200).await;
        let other = list["items"].as_array().unwrap().iter().find(|session| session["current"] == false).unwrap();
        let path = format!("/api/sessions/{}", other["id"]);
        team.json(&first, Method::DELETE, &path, Value::Null, 204).await;
        assert_eq!(team.get(&second, "/api/conversations").await.status(), StatusCode::UNAUTHORIZED);
        team.json(&first, Method::DELETE, &path, Value::Null, 404).await;
        let recorded = "SELECT actor_id, user_id, subject FROM audit_log WHERE action = 'session_ended'";
        assert_eq!(rows!(team.app, (i64, i64, String), recorded), [(1, 1, "127.0.0.1".to_owned())]);
    }

    /// A new session gets neither a planted cookie nor the previous session's cookie.
    async fn a_session_has_a_new_id_at_each_sign_in(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let body = json!({"name": ADMIN, "password": PASSWORD});
        let planted = Who { cookie: Some(format!("tallybook_session={}", "a".repeat(64))), key: None };
        let response = team.send(&planted, Method::POST, "/api/session", body.clone()).await;
        let first = Who { cookie: cookie_of(&response), key: None };
        assert_ne!(first.cookie, planted.cookie);
        assert_eq!(team.get(&planted, "/api/models").await.status(), StatusCode::UNAUTHORIZED);

        let response = team.send(&first, Method::POST, "/api/session", body).await;
        let second = Who { cookie: cookie_of(&response), key: None };
        assert_ne!(second.cookie, first.cookie);
        assert_eq!(team.get(&first, "/api/models").await.status(), StatusCode::UNAUTHORIZED, "the previous session was replaced");
        assert_eq!(team.get(&second, "/api/models").await.status(), StatusCode::OK);
    }

    /// Sessions expire, and the database contains only hashes, which do not work as a cookie or as a key.
    async fn sessions_expire_and_are_stored_as_hashes(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let who = team.sign_in(ADMIN).await;
        let program = team.program(&who).await;
        let secret = who.cookie.as_ref().unwrap().split_once('=').unwrap().1.to_owned();
        let kept: Vec<(String,)> = rows!(team.app, (String,), "SELECT token_hash FROM sessions");
        let keys: Vec<(String,)> = rows!(team.app, (String,), "SELECT hash FROM api_keys");
        assert_eq!((kept.len(), keys.len()), (1, 1));
        assert!(kept[0].0.len() == 64 && !kept[0].0.contains(&secret));
        assert!(!program.key.as_ref().unwrap().contains(&keys[0].0));
        let shown = Who { cookie: Some(format!("tallybook_session={}", kept[0].0)), key: None };
        assert_eq!(team.get(&shown, "/api/models").await.status(), StatusCode::UNAUTHORIZED);
        execute!(team.app, "UPDATE sessions SET expires_at = '2020-01-01 00:00:00'");
        assert_eq!(team.get(&who, "/api/models").await.status(), StatusCode::UNAUTHORIZED);
        assert_eq!(team.get(&program, "/api/models").await.status(), StatusCode::OK);
    }

    /// The response is the same for a name that does not exist, for a deactivated account, and for a wrong password.
    async fn failed_sign_ins_reveal_nothing_and_are_delayed(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let admin = team.sign_in(ADMIN).await;
        let (_, gone) = team.user(&admin, "gone").await;
        team.json(&admin, Method::DELETE, &format!("/api/users/{gone}"), Value::Null, 204).await;
        let mut answers = Vec::new();
        for (name, password) in [(ADMIN, "a wrong password"), ("nobody", PASSWORD), ("gone", "a wrong password"), ("' OR 1=1 --", PASSWORD)] {
            let response = team.try_sign_in(name, password).await;
            assert_eq!((response.status(), cookie_of(&response)), (StatusCode::UNAUTHORIZED, None), "{name}");
            let mut problem: Value = response.json().await.unwrap();
            problem["request_id"] = Value::Null;
            answers.push(problem);
        }
        assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
        // Only the right password reveals that the account is deactivated.
        let response = team.try_sign_in("gone", PASSWORD).await;
        assert_eq!((response.status(), kind_of(response).await.as_str()), (StatusCode::FORBIDDEN, "/problems/deactivated"));

        // Concurrent attempts count like sequential ones.
        for name in [ADMIN, "nobody"] {
            let tries = (0..16).map(|_| team.try_sign_in(name, "a wrong password"));
            let answers = futures_util::future::join_all(tries).await;
            let refused: Vec<_> =
                answers.iter().filter(|answer| answer.status() == StatusCode::TOO_MANY_REQUESTS).collect();
            assert!(refused.len() >= 4, "{name}: {} were refused", refused.len());
            let wait: u64 = refused[0].headers()["retry-after"].to_str().unwrap().parse().unwrap();
            assert!((1..=300).contains(&wait), "{wait}");
        }
        // During the delay, even the right password is refused. After the delay, it works.
        execute!(team.app, "UPDATE sign_in_attempts SET blocked_until = '2037-01-01 00:00:00'");
        let right = team.try_sign_in(ADMIN, PASSWORD).await;
        assert_eq!(kind_of(right).await, "/problems/too-many-attempts");
        execute!(team.app, "UPDATE sign_in_attempts SET blocked_until = '2020-01-01 00:00:00'");
        team.sign_in(ADMIN).await;
    }

    /// Trying one password with many names is delayed by address, and headers cannot fake the address.
    async fn headers_cannot_fake_the_client_address(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let guess = async |team: &Team, number: u32| {
            let request = team.request(&Who::default(), Method::POST, "/api/session");
            let request = request
                .header("x-forwarded-for", format!("198.51.100.{number}"))
                .header("forwarded", format!("for=198.51.100.{number}"));
            request.json(&json!({"name": format!("name{number}"), "password": "x"})).send().await.unwrap().status()
        };
        let mut statuses = Vec::new();
        for number in 1..=27 {
            statuses.push(guess(&team, number).await);
        }
        assert_eq!(statuses[0], StatusCode::UNAUTHORIZED);
        // Extends the delay, if there is one, beyond the duration of this test.
        execute!(team.app, BLOCKED);
        statuses.push(guess(&team, 28).await);
        assert_eq!(statuses.last(), Some(&StatusCode::TOO_MANY_REQUESTS), "{statuses:?}");

        // Behind a trusted proxy, each client has its own address.
        let settings = AccountsSettings { trusted_proxies: vec!["127.0.0.1/32".parse().unwrap()], ..required() };
        if engine.is_sqlite() {
            team.app.shut_down().await;
        }
        let behind = Team::join(&engine, &model, settings).await;
        assert_eq!(guess(&behind, 99).await, StatusCode::UNAUTHORIZED);
    }

    /// Without scripts, the form does what the API does. It redirects only to addresses on this server.
    async fn the_form_signs_in_and_out(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let no_credentials = Who::default();
        let send = async |path: &str, fields: &[(&str, &str)], who: &Who| {
            let request = team.request(who, Method::POST, path).header("origin", &team.app.address);
            let request = request.header("content-type", "application/x-www-form-urlencoded").body(form(fields));
            request.send().await.unwrap()
        };
        let page = team.get(&no_credentials, "/sign-in?next=%2Fc%2F%22%3E%3Cb%3E").await;
        let policy = page.headers()["content-security-policy"].to_str().unwrap().to_owned();
        let html = page.text().await.unwrap();
        assert!(html.contains("name=\"password\"") && !html.contains("\"><b>"), "{html}");
        // The policy allows only the script that shows the password.
        let (before, script) = html.split_once("<script>").unwrap();
        let (script, after) = script.split_once("</script>").unwrap();
        assert!(script.contains("show-password") && !before.contains("<script") && !after.contains("<script"), "{html}");
        let hash = BASE64_STANDARD.encode(Sha256::digest(script));
        assert!(policy.contains("default-src 'none'"), "{policy}");
        assert!(policy.ends_with(&format!("; script-src 'sha256-{hash}'")), "{policy}");
        // Without scripts, the toggle stays hidden.
        let toggle = html.split("<button").find(|part| part.contains("id=\"show-password\"")).unwrap();
        assert!(toggle.split('>').next().unwrap().ends_with(" hidden"), "{toggle}");
        let field = html.split("<input").find(|part| part.contains("id=\"password\"")).unwrap();
        for attribute in ["type=\"password\"", "autocomplete=\"current-password\"", "spellcheck=\"false\""] {
            assert!(field.contains(attribute), "{attribute}: {field}");
        }
        assert!(html.contains("Forgot your password?") && html.contains("<code>tallybook admin password NAME</code>"), "{html}");
        let linked = team.get(&no_credentials, "/invitation?token=x").await;
        let policy = linked.headers()["content-security-policy"].to_str().unwrap().to_owned();
        let html = linked.text().await.unwrap();
        assert!(!policy.contains("script-src") && !html.contains("<script") && !html.contains("Forgot"), "no form: {html}");

        let wrong = send("/sign-in", &[("name", "<i>root"), ("password", "not the password")], &no_credentials).await;
        assert_eq!((wrong.status(), cookie_of(&wrong)), (StatusCode::UNAUTHORIZED, None));
        let html = wrong.text().await.unwrap();
        assert!(html.contains("The name or the password is wrong.") && !html.contains("not the password"), "{html}");
        assert!(!html.contains("<i>root"), "{html}");
        let part = assert_problem(send("/sign-in", &[("name", "root")], &no_credentials).await, 400, "bad-body").await;
        let said = part["detail"].as_str().unwrap();
        assert!(said.contains("password") && !said.ends_with(".."), "{said}");
        let fields = [("name", "ROOT"), ("password", PASSWORD), ("next", "//evil.example")];
        let right = send("/sign-in", &fields, &no_credentials).await;
        assert_eq!((right.status(), &right.headers()["location"]), (StatusCode::SEE_OTHER, &"/".parse().unwrap()));
        let cookie = right.headers()["set-cookie"].to_str().unwrap();
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax") && cookie.contains("Path=/"), "{cookie}");
        let who = Who { cookie: cookie_of(&right), key: None };
        assert!(team.get(&who, "/").await.text().await.unwrap().contains("action=\"/sign-out\""));
        let out = send("/sign-out", &[], &who).await;
        assert_eq!((out.status(), &out.headers()["location"]), (StatusCode::SEE_OTHER, &"/sign-in".parse().unwrap()));
        assert_eq!(team.get(&who, "/api/models").await.status(), StatusCode::UNAUTHORIZED);
    }

    /// The browser of a deactivated user learns the reason from its session, and no other client does.
    async fn a_deactivated_user_learns_why_the_session_ended(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let admin = team.sign_in(ADMIN).await;
        let (ann, id) = team.user(&admin, "ann").await;
        let (left, out) = (team.sign_in("ann").await, team.sign_in("ann").await);
        let program = team.program(&ann).await;
        team.json(&out, Method::DELETE, "/api/session", Value::Null, 204).await;
        let path = format!("/api/users/{id}");
        let form_of = async |who: &Who| {
            let form = team.get(who, "/sign-in").await;
            assert_eq!(form.status(), StatusCode::OK);
            form.text().await.unwrap()
        };
        team.json(&admin, Method::PATCH, &path, json!({"active": false}), 200).await;

        for who in [&ann, &left] {
            let refused = team.get(who, "/api/conversations").await;
            assert_eq!(refused.status(), StatusCode::UNAUTHORIZED);
            assert_eq!(kind_of(refused).await, "/problems/account-deactivated");
            let page = team.get(who, "/c/x").await;
            assert_eq!((page.status(), &page.headers()["location"]), (StatusCode::SEE_OTHER, &"/sign-in?next=%2Fc%2Fx".parse().unwrap()));
            let html = form_of(who).await;
            assert!(html.contains(DEACTIVATED) && html.contains("name=\"password\""), "{html}");
        }
        let guess = Who { cookie: Some(format!("tallybook_session={}", "a".repeat(64))), key: None };
        for who in [&Who::default(), &guess, &out, &program] {
            assert!(!form_of(who).await.contains(DEACTIVATED), "{who:?}");
            let refused = team.get(who, "/api/conversations").await;
            assert_eq!(kind_of(refused).await, "/problems/not-signed-in", "{who:?}");
        }
        // The sessions' rows no longer describe the browsers.
        let kept = "SELECT user_agent, address FROM sessions WHERE user_id <> 1";
        assert_eq!(rows!(team.app, (String, String), kept), vec![(String::new(), String::new()); 2]);

        // The account is active again, but its sessions are not.
        team.json(&admin, Method::PATCH, &path, json!({"active": true}), 200).await;
        assert!(!form_of(&ann).await.contains(DEACTIVATED));
        let refused = team.get(&ann, "/api/conversations").await;
        assert_eq!(kind_of(refused).await, "/problems/not-signed-in");
        let ann = team.sign_in("ann").await;
        assert_eq!(team.get(&ann, "/api/conversations").await.status(), StatusCode::OK);
    }

    /// At its start, a server deletes sessions of deactivated users that ended two weeks ago, and no newer ones.
    async fn ended_sessions_of_deactivated_users_are_deleted_later(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let (_, id) = team.user(&admin, "ann").await;
        let ann = team.sign_in("ann").await;
        team.json(&admin, Method::DELETE, &format!("/api/users/{id}"), Value::Null, 204).await;
        let first = "(SELECT id FROM (SELECT MIN(id) AS id FROM sessions WHERE user_id <> 1) older)";
        let past = format!("UPDATE sessions SET expires_at = '2020-01-01 00:00:00' WHERE id = {first}");
        execute!(team.app, AssertSqlSafe(past.as_str()));
        if engine.is_sqlite() {
            team.app.shut_down().await;
        }
        let later = Team::join(&engine, &model, required()).await;
        let count = "SELECT COUNT(*) FROM sessions WHERE user_id <> 1";
        eventually("the older session is deleted", async || rows!(later.app, (i64,), count) == [(1,)]).await;
        let refused = later.get(&ann, "/api/conversations").await;
        assert_eq!(kind_of(refused).await, "/problems/account-deactivated", "the newer one is still there");
    }

    /// Requests that other sites make a browser send have no effect, even with the session cookie.
    async fn other_sites_cannot_use_the_session(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let who = team.sign_in(ADMIN).await;
        for (header, value, kind) in [
            ("origin", "https://evil.example", "/problems/foreign-origin"),
            ("sec-fetch-site", "cross-site", "/problems/foreign-origin"),
            ("sec-fetch-site", "same-site", "/problems/foreign-origin"),
            ("content-type", "text/plain", "/problems/not-json"),
        ] {
            for (method, path) in [(Method::POST, "/api/conversations"), (Method::DELETE, "/api/sessions")] {
                let request = team.request(&who, method, path).body("{}").header(header, value);
                assert_eq!(kind_of(request.send().await.unwrap()).await, kind, "{header}: {value}");
            }
        }
        // A file has a type of its own.
        for (header, value, status) in [
            ("content-type", "text/plain", StatusCode::CREATED),
            ("content-type", "image/png", StatusCode::CREATED),
            ("origin", "https://evil.example", StatusCode::FORBIDDEN),
            ("sec-fetch-site", "cross-site", StatusCode::FORBIDDEN),
        ] {
            let upload = team.request(&who, Method::POST, "/api/files?name=note.txt").body("2 + 3").header(header, value);
            assert_eq!(upload.send().await.unwrap().status(), status, "{header}: {value}");
        }
        assert_eq!(team.get(&who, "/api/models").await.status(), StatusCode::OK, "the session is still there");
        // Without TLS, browsers keep the session cookie only from localhost, which includes this name.
        let request = team.request(&Who::default(), Method::POST, "/api/session");
        let request = request.header("host", "chat.localhost").header("origin", "http://chat.localhost");
        let here = request.json(&json!({"name": ADMIN, "password": PASSWORD})).send().await.unwrap();
        assert_eq!(here.status(), StatusCode::OK);
    }

    async fn a_key_is_shown_once_and_revoked_permanently(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let who = team.sign_in(ADMIN).await;
        let made = team.json(&who, Method::POST, "/api/keys", json!({"name": "Backup", "password": PASSWORD}), 201).await;
        let key = made["key"].as_str().unwrap().to_owned();
        assert!(key.starts_with("tb_") && key.starts_with(made["prefix"].as_str().unwrap()));
        let program = Who { cookie: None, key: Some(key.clone()) };
        assert_eq!(team.get(&program, "/metrics").await.status(), StatusCode::OK);
        let list = team.json(&who, Method::GET, "/api/keys", Value::Null, 200).await;
        assert_eq!(list["items"][0]["prefix"], made["prefix"]);
        assert!(list["items"][0]["last_used_at"].is_string() && !list.to_string().contains(&key), "{list}");

        // Only a signed-in user can manage users; even an admin's key cannot.
        let refused = team.get(&program, "/api/users").await;
        assert_eq!(kind_of(refused).await, "/problems/persons-only");
        // A wrong key is refused even if a valid cookie comes with it.
        let both = Who { key: Some(format!("{key}0")), ..who.clone() };
        assert_eq!(team.get(&both, "/api/models").await.status(), StatusCode::UNAUTHORIZED);
        team.json(&who, Method::DELETE, &format!("/api/keys/{}", made["id"]), Value::Null, 204).await;
        assert_eq!(team.get(&program, "/api/models").await.status(), StatusCode::UNAUTHORIZED);
        let actions: Vec<(String,)> = rows!(team.app, (String,), "SELECT action FROM audit_log ORDER BY id");
        let actions: Vec<_> = actions.iter().map(|(action,)| action.as_str()).collect();
        assert_eq!(actions, ["user_created", "signed_in", "key_created", "request_refused", "key_revoked"]);
    }
}

/// A name that is blocked on one server is blocked on all servers that share the database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn failed_sign_ins_count_across_servers() {
    for engine in Engine::every_mysql_with_tables().await {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let other = Team::join(&engine, &model, required()).await;
        let tries = futures_util::future::join_all((0..16).map(|_| team.try_sign_in(ADMIN, "a wrong password"))).await;
        assert!(tries.iter().any(|answer| answer.status() == StatusCode::TOO_MANY_REQUESTS));
        // Extends the delay beyond the duration of this test.
        execute!(engine, BLOCKED);
        for server in [&other, &team] {
            assert_eq!(kind_of(server.try_sign_in(ADMIN, PASSWORD).await).await, "/problems/too-many-attempts");
        }
    }
}

/// The response time does not reveal whether a name exists: the slow password hash is computed in any case.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_name_takes_as_long_as_a_wrong_password() {
    let engine = Engine::sqlite();
    let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
    let admin = team.sign_in(ADMIN).await;
    for number in 0..4 {
        team.user(&admin, &format!("known{number}")).await;
    }
    // Without the hash, an unknown name would take a tenth of the time.
    let takes_as_long = |[known, unknown]: [Duration; 2]| unknown * 2 > known;
    let mut fastest = [Duration::MAX; 2];
    for round in 0..12 {
        let number = round % 4;
        // Failed attempts delay later ones.
        execute!(team.app, "DELETE FROM sign_in_attempts");
        for (place, name) in [format!("known{number}"), format!("unknown{number}")].iter().enumerate() {
            let begun = std::time::Instant::now();
            team.try_sign_in(name, "not the password").await;
            fastest[place] = fastest[place].min(begun.elapsed());
        }
        // Stops after a round in which each name was tried. Tries up to three rounds, since other tests may have used
        // the processors.
        if number == 3 && takes_as_long(fastest) {
            break;
        }
    }
    assert!(takes_as_long(fastest), "known: {:?}, unknown: {:?}", fastest[0], fastest[1]);
}
