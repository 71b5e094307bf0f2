//! API keys, which outlast sessions: who can create them, when they end, and how admins list and revoke them.

use std::{
    io::Write as _,
    process::{Command, Stdio},
};

use chrono::{TimeDelta, Utc};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tallybook_mock_llm::MockLlm;

use super::kit::{ADMIN, BLOCKED, PASSWORD, Team, Who, kind_of};
use crate::{
    operator_commands::said,
    support::{Engine, TestApp, execute, on_every_engine, rows},
};

async fn status_of(team: &Team, who: &Who) -> StatusCode {
    team.get(who, "/api/me").await.status()
}

on_every_engine! {
    /// A stolen session cannot create an API key, which would outlast the session, not even right after the session's
    /// sign-in.
    async fn a_session_alone_cannot_create_a_key(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let who = team.sign_in(ADMIN).await;
        let me = team.json(&who, Method::GET, "/api/me", Value::Null, 200).await;
        assert_eq!(me["has_password"], true);
        let make = async |body: Value| team.send(&who, Method::POST, "/api/keys", body).await;
        for body in [json!({"name": "stolen"}), json!({"name": "stolen", "password": null})] {
            assert_eq!(kind_of(make(body).await).await, "/problems/password-needed");
        }
        for password in ["", "not the password"] {
            let refused = make(json!({"name": "stolen", "password": password})).await;
            assert_eq!((refused.status(), kind_of(refused).await.as_str()), (StatusCode::FORBIDDEN, "/problems/wrong-password"));
        }
        let created = make(json!({"name": "mine", "password": PASSWORD})).await;
        assert_eq!(created.status(), StatusCode::CREATED);
        let key: Value = created.json().await.unwrap();
        assert!(key["id"].is_i64() && key["key"].is_string() && key["prefix"].is_string(), "{key}");
        // A user without a password must have just signed in.
        execute!(team.app, "UPDATE users SET password_hash = NULL");
        let me = team.json(&who, Method::GET, "/api/me", Value::Null, 200).await;
        assert_eq!(me["has_password"], false);
        assert_eq!(make(json!({"name": "just signed in"})).await.status(), StatusCode::CREATED);
        team.age_sessions().await;
        for password in [Value::Null, json!(""), json!(PASSWORD)] {
            let refused = make(json!({"name": "stolen", "password": password})).await;
            assert_eq!(kind_of(refused).await, "/problems/sign-in-again");
        }
        // Wrong passwords are counted, and create no key.
        for _ in 0..10 {
            make(json!({"name": "stolen", "password": "not the password"})).await;
        }
        let names = rows!(team.app, (String,), "SELECT name FROM api_keys ORDER BY id");
        assert_eq!(names, [("mine".to_owned(),), ("just signed in".to_owned(),)]);
    }

    async fn creating_a_key_delays_password_guesses(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let who = team.sign_in(ADMIN).await;
        let make = async |password: &str| {
            team.send(&who, Method::POST, "/api/keys", json!({"name": "x", "password": password})).await.status()
        };
        for _ in 0..10 {
            make("not the password").await;
        }
        execute!(team.app, BLOCKED);
        assert_eq!(make(PASSWORD).await, StatusCode::TOO_MANY_REQUESTS);
    }

    /// A new password, a sign-out everywhere and an admin's reset revoke keys only if the request asks for that. A
    /// deactivation always does.
    async fn keys_are_revoked_on_request_and_on_deactivation(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let admin = team.sign_in(ADMIN).await;
        let (mut ann, id) = team.user(&admin, "ann").await;
        let user = format!("/api/users/{id}");
        let program = team.program(&ann).await;
        let new = |revoke: Value| json!({"current": PASSWORD, "new": PASSWORD, "revoke_keys": revoke});
        team.json(&ann, Method::PUT, "/api/me/password", json!({"current": PASSWORD, "new": PASSWORD}), 204).await;
        team.json(&ann, Method::PUT, "/api/me/password", new(json!(false)), 204).await;
        team.json(&admin, Method::PATCH, &user, json!({"password": PASSWORD}), 200).await;
        ann = team.sign_in("ann").await;
        team.json(&ann, Method::DELETE, "/api/sessions", Value::Null, 204).await;
        assert_eq!(status_of(&team, &program).await, StatusCode::OK, "the request did not ask for that");
        ann = team.sign_in("ann").await;
        team.json(&ann, Method::PUT, "/api/me/password", new(json!(true)), 204).await;
        assert_eq!(status_of(&team, &program).await, StatusCode::UNAUTHORIZED);
        let program = team.program(&ann).await;
        team.json(&ann, Method::DELETE, "/api/sessions", json!({"revoke_keys": true}), 204).await;
        assert_eq!(status_of(&team, &program).await, StatusCode::UNAUTHORIZED);
        ann = team.sign_in("ann").await;
        let program = team.program(&ann).await;
        team.json(&admin, Method::PATCH, &user, json!({"password": PASSWORD, "revoke_keys": true}), 200).await;
        assert_eq!(status_of(&team, &program).await, StatusCode::UNAUTHORIZED);

        ann = team.sign_in("ann").await;
        let program = team.program(&ann).await;
        team.json(&admin, Method::PATCH, &user, json!({"active": false}), 200).await;
        team.json(&admin, Method::PATCH, &user, json!({"active": true}), 200).await;
        assert_eq!(status_of(&team, &program).await, StatusCode::UNAUTHORIZED, "the key stays revoked");
        let ann = team.sign_in("ann").await;
        let program = team.program(&ann).await;
        team.json(&admin, Method::PATCH, &user, json!({"revoke_keys": true}), 200).await;
        assert_eq!(status_of(&team, &program).await, StatusCode::UNAUTHORIZED);
        assert_eq!(status_of(&team, &ann).await, StatusCode::OK, "the session stays");
        let revoked = rows!(team.app, (i64,), "SELECT COUNT(*) FROM audit_log WHERE action = 'keys_revoked'");
        assert_eq!(revoked, [(5,)]);
    }

    /// An expired key is refused, is not listed, and does not count toward the maximum number of keys.
    async fn expired_keys_are_refused(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let who = team.sign_in(ADMIN).await;
        let tomorrow = Utc::now() + TimeDelta::days(1);
        for wrong in [json!("2020-01-01T00:00:00Z"), json!(Utc::now() + TimeDelta::days(4000))] {
            let refused = team.send(&who, Method::POST, "/api/keys", json!({"name": "x", "password": PASSWORD, "expires_at": wrong})).await;
            assert_eq!(kind_of(refused).await, "/problems/invalid-input", "{wrong}");
        }
        let wanted = json!({"name": "x", "password": PASSWORD, "expires_at": tomorrow});
        let made = team.json(&who, Method::POST, "/api/keys", wanted, 201).await;
        let program = Who { cookie: None, key: Some(made["key"].as_str().unwrap().to_owned()) };
        assert_eq!(status_of(&team, &program).await, StatusCode::OK);
        let list = team.json(&who, Method::GET, "/api/keys", Value::Null, 200).await;
        assert!(list["items"][0]["expires_at"].is_string(), "{list}");
        execute!(team.app, "UPDATE api_keys SET expires_at = '2020-01-01 00:00:00'");
        assert_eq!(status_of(&team, &program).await, StatusCode::UNAUTHORIZED);
        let list = team.json(&who, Method::GET, "/api/keys", Value::Null, 200).await;
        assert_eq!(list["items"], json!([]));
    }

    async fn admins_list_and_revoke_keys_of_other_users(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let root = team.sign_in(ADMIN).await;
        let (ann, id) = team.user(&root, "ann").await;
        let program = team.program(&ann).await;
        let path = format!("/api/users/{id}/keys");
        let list = team.json(&root, Method::GET, &path, Value::Null, 200).await;
        let key = &list["items"][0];
        assert!(key["name"] == "a program" && !list.to_string().contains(program.key.as_ref().unwrap()), "{list}");
        assert_eq!(team.get(&ann, "/api/users/1/keys").await.status(), StatusCode::FORBIDDEN);
        let other = format!("/api/users/1/keys/{}", key["id"]);
        assert_eq!(kind_of(team.send(&root, Method::DELETE, &other, Value::Null).await).await, "/problems/no-such-key");
        team.json(&root, Method::DELETE, &format!("{path}/{}", key["id"]), Value::Null, 204).await;
        assert_eq!(status_of(&team, &program).await, StatusCode::UNAUTHORIZED);
        assert_eq!(kind_of(team.get(&root, "/api/users/999/keys").await).await, "/problems/no-such-user");
    }

    async fn the_password_command_can_revoke_keys(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let who = team.sign_in(ADMIN).await;
        let program = team.program(&who).await;
        let mut command = Command::new(env!("CARGO_BIN_EXE_tallybook"));
        command.env_clear().env("DATABASE_URL", &engine.url);
        command.args(["admin", "password", ADMIN, "--password-stdin", "--revoke-keys"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        writeln!(child.stdin.take().unwrap(), "{PASSWORD}").unwrap();
        let (done, words) = said(&child.wait_with_output().unwrap());
        assert!(done && words.contains("The user's API keys are revoked."), "{words}");
        assert_eq!(status_of(&team, &program).await, StatusCode::UNAUTHORIZED);
    }

    /// Without accounts, users have no password that the server could require.
    async fn without_accounts_creating_a_key_needs_no_password(engine: Engine) {
        let app = TestApp::spawn(&engine, &MockLlm::start().await.unwrap()).await;
        let made = app.client.post(app.url("/api/keys")).json(&json!({"name": "mine"})).send().await.unwrap();
        assert_eq!(made.status(), StatusCode::CREATED);
    }
}
