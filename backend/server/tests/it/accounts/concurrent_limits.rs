//! Limits hold for many requests at once, and lists show everything that counts.

use futures_util::future::join_all;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text};

use super::kit::{ADMIN, Team, Who};
use crate::support::{Engine, execute, on_every_engine};

const AT_ONCE: usize = 24;

/// Sends the same request many times at once, and returns how many were accepted.
async fn accepted(team: &Team, who: &Who, path: &str, body: &Value) -> usize {
    let all = join_all((0..AT_ONCE).map(|_| team.send(who, Method::POST, path, body.clone()))).await;
    for answer in &all {
        assert!(matches!(answer.status(), StatusCode::CREATED | StatusCode::CONFLICT), "{path}: {}", answer.status());
    }
    all.iter().filter(|answer| answer.status() == StatusCode::CREATED).count()
}

async fn listed(team: &Team, who: &Who, path: &str) -> usize {
    team.json(who, Method::GET, path, Value::Null, 200).await["items"].as_array().unwrap().len()
}

/// Copies the first row of a table.
async fn fill(team: &Team, table: &str, columns: &str, values: &str, copies: usize) {
    for _ in 0..copies {
        let sql = format!("INSERT INTO {table} ({columns}) SELECT {values} FROM {table} ORDER BY id LIMIT 1");
        execute!(team.app, sqlx::AssertSqlSafe(sql));
    }
}

on_every_engine! {
    async fn keys_do_not_exceed_their_limit(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let who = team.sign_in(ADMIN).await;
        // If the user has no password, the server does not have to check one for each key.
        execute!(team.app, "UPDATE users SET password_hash = NULL");
        for number in 0..40 {
            team.json(&who, Method::POST, "/api/keys", json!({"name": format!("key {number}")}), 201).await;
        }
        assert_eq!(accepted(&team, &who, "/api/keys", &json!({"name": "one more"})).await, 10);
        assert_eq!(listed(&team, &who, "/api/keys").await, 50);
    }

    async fn shared_links_do_not_exceed_their_limit(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let who = team.sign_in(ADMIN).await;
        let uuid = team.conversation(&who).await;
        model.reply([text("Yes.")]);
        team.ask(&who, &uuid, "Go?").await;
        let path = format!("/api/conversations/{uuid}/shares");
        team.json(&who, Method::POST, &path, json!({}), 201).await;
        let token = if engine.is_sqlite() { "lower(hex(randomblob(16)))" } else { "UUID()" };
        let columns = "conversation_id, token, title, has_tool_calls, messages, created_at";
        let values = format!("conversation_id, {token}, title, has_tool_calls, messages, created_at");
        fill(&team, "shares", columns, &values, 189).await;
        assert_eq!(accepted(&team, &who, &path, &json!({})).await, 10);
        // Shares that an older server created beyond the limit are listed, too, so that their owner can revoke them.
        fill(&team, "shares", columns, &values, 5).await;
        assert_eq!(listed(&team, &who, "/api/shares").await, 205);
    }

    async fn invitations_do_not_exceed_their_limit(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let who = team.sign_in(ADMIN).await;
        team.json(&who, Method::POST, "/api/invitations", json!({}), 201).await;
        let token = if engine.is_sqlite() { "hex(randomblob(32))" } else { "SHA2(UUID(), 256)" };
        let columns = "token_hash, role, created_by, created_at, expires_at";
        // Doubles the rows each time, then adds the rest.
        for copies in [1, 2, 4, 8, 16, 32, 64, 128, 256, 478] {
            let sql = format!(
                "INSERT INTO invitations ({columns}) SELECT {token}, role, created_by, created_at, expires_at \
                 FROM invitations LIMIT {copies}"
            );
            execute!(team.app, sqlx::AssertSqlSafe(sql));
        }
        assert_eq!(listed(&team, &who, "/api/invitations").await, 990);
        assert_eq!(accepted(&team, &who, "/api/invitations", &json!({})).await, 10);
        assert_eq!(listed(&team, &who, "/api/invitations").await, 1000);
    }

    async fn accounts_do_not_exceed_their_limit(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let who = team.sign_in(ADMIN).await;
        // Doubles the rows each time, then adds all but two of the rest.
        for (round, copies) in (0..16).map(|round| 1 << round).chain([34_462]).enumerate() {
            let name = if engine.is_sqlite() { format!("'r{round}-' || id") } else { format!("CONCAT('r{round}-', id)") };
            let sql = format!(
                "INSERT INTO users (name, name_skeleton, role, created_at) \
                 SELECT {name}, {name}, 'user', created_at FROM users LIMIT {copies}"
            );
            execute!(team.app, sqlx::AssertSqlSafe(sql));
        }
        let create_account = |number: usize| {
            let (team, who) = (&team, &who);
            let body = json!({"name": format!("guest{number}"), "password": "another one of some length"});
            async move { team.send(who, Method::POST, "/api/users", body).await.status() }
        };
        let made = join_all((0..8).map(create_account)).await;
        assert_eq!(made.iter().filter(|status| **status == StatusCode::CREATED).count(), 2, "{made:?}");
        assert!(made.iter().all(|status| matches!(*status, StatusCode::CREATED | StatusCode::CONFLICT)), "{made:?}");
    }
}
