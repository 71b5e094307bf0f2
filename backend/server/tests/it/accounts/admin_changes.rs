//! Users see what admins changed of their accounts until they acknowledge it.

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use tallybook_mock_llm::MockLlm;

use super::kit::{ADMIN, PASSWORD, Team, Who, required};
use crate::support::{Engine, Pool, execute, on_every_engine};

/// Lists the changes that a user has not acknowledged, newest first.
pub(crate) async fn changes(team: &Team, who: &Who) -> Vec<Value> {
    let me = team.json(who, Method::GET, "/api/me", Value::Null, 200).await;
    me["account_changes"].as_array().expect("a list").clone()
}

/// Returns the kinds of the changes, and who made them.
async fn kinds(team: &Team, who: &Who) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().expect("a word").to_owned();
    changes(team, who).await.iter().map(|change| (word(&change["kind"]), word(&change["by"]))).collect()
}

pub(crate) async fn acknowledge(team: &Team, who: &Who, id: &Value) {
    team.json(who, Method::PUT, "/api/looks/seen", json!({"id": id}), 204).await;
}

fn by_admin(kind: &str) -> (String, String) {
    (kind.to_owned(), ADMIN.to_owned())
}

on_every_engine! {
    async fn changes_by_admins_are_shown_until_acknowledged(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let admin = team.sign_in(ADMIN).await;
        let (ann, id) = team.user(&admin, "ann").await;
        let (ben, _) = team.user(&admin, "ben").await;
        team.program(&ann).await;
        let own = json!({"current": PASSWORD, "new": "another one of some length", "revoke_keys": true});
        team.json(&ann, Method::PUT, "/api/me/password", own, 204).await;
        assert_eq!(changes(&team, &ann).await, [Value::Null; 0], "the user's own changes");

        team.program_by(&ann, "another one of some length").await;
        let path = format!("/api/users/{id}");
        let keys = team.json(&admin, Method::GET, &format!("{path}/keys"), Value::Null, 200).await;
        team.json(&admin, Method::DELETE, &format!("{path}/keys/{}", keys["items"][0]["id"]), Value::Null, 204).await;
        let reset = async || {
            team.json(&admin, Method::PATCH, &path, json!({"password": PASSWORD}), 200).await;
            team.sign_in("ann").await
        };
        let ann = reset().await;
        assert_eq!(kinds(&team, &ann).await, [by_admin("password_changed"), by_admin("keys_revoked")]);
        let program = team.program(&ann).await;
        assert_eq!(changes(&team, &program).await, [Value::Null; 0], "API keys cannot read the access log");
        for other in [&ben, &admin] {
            assert_eq!(changes(&team, other).await, [Value::Null; 0], "other users' accounts");
        }

        let seen = changes(&team, &ann).await;
        let (newer, older) = (&seen[0]["id"], &seen[1]["id"]);
        acknowledge(&team, &ben, newer).await;
        assert_eq!(changes(&team, &ann).await, seen, "another user cannot acknowledge her changes");
        acknowledge(&team, &ann, older).await;
        assert_eq!(kinds(&team, &ann).await, [by_admin("password_changed")]);
        acknowledge(&team, &ann, newer).await;
        for id in [older, newer, &json!(0), &json!(i64::MIN)] {
            assert_eq!(changes(&team, &team.sign_in("ann").await).await, [Value::Null; 0], "in every browser");
            acknowledge(&team, &ann, id).await;
        }
        assert_eq!(changes(&team, &ann).await, [Value::Null; 0], "entries stay acknowledged");

        // However large an acknowledged id is, later changes are announced.
        acknowledge(&team, &ann, &json!(i64::MAX)).await;
        acknowledge(&team, &ben, &json!(i64::MAX)).await;
        let ann = reset().await;
        assert_eq!(kinds(&team, &ann).await, [by_admin("password_changed")]);
        let access_log = team.json(&ann, Method::GET, "/api/looks", Value::Null, 200).await;
        assert_eq!(access_log["items"].as_array().unwrap().len(), 3, "the access log has all of them");
    }

    async fn changes_by_the_operator_are_shown_at_most_ten(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let admin = team.sign_in(ADMIN).await;
        let (ann, id) = team.user(&admin, "ann").await;
        let row = format!("(NULL, {id}, 'password_changed', '', '2026-01-01 00:00:00')");
        let rows = vec![row; 11].join(", ");
        let insert = format!("INSERT INTO audit_log (actor_id, user_id, action, subject, created_at) VALUES {rows}");
        execute!(team.app, AssertSqlSafe(insert.as_str()));
        let operators = ("password_changed".to_owned(), String::new());
        assert_eq!(kinds(&team, &ann).await, vec![operators; 10]);
        let ids: Vec<_> = changes(&team, &ann).await.iter().map(|change| change["id"].as_i64().unwrap()).collect();
        assert!(ids.is_sorted_by(|a, b| a > b), "{ids:?}");
        acknowledge(&team, &ann, &json!(ids[0])).await;
        assert_eq!(changes(&team, &ann).await, [Value::Null; 0]);
    }

    /// After an upgrade, the server does not announce earlier changes.
    async fn changes_before_the_upgrade_count_as_acknowledged(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let (_, id) = team.user(&admin, "ann").await;
        let path = format!("/api/users/{id}");
        team.json(&admin, Method::PATCH, &path, json!({"password": PASSWORD}), 200).await;
        let ann = team.sign_in("ann").await;
        assert_eq!(kinds(&team, &ann).await, [by_admin("password_changed")]);
        let database = team.app.pool().await;
        for sql in ["ALTER TABLE users DROP COLUMN seen_look_id", "DELETE FROM _sqlx_migrations WHERE version = 33"] {
            match &database {
                Pool::MySql(pool) => sqlx::query(sql).execute(pool).await.map(|_| ()),
                Pool::Sqlite(pool) => sqlx::query(sql).execute(pool).await.map(|_| ()),
            }
            .expect("the tables are as before the upgrade");
        }
        drop(database);
        team.app.shut_down().await;

        let team = Team::join(&engine, &model, required()).await;
        assert_eq!(changes(&team, &ann).await, [Value::Null; 0]);
        let admin = team.sign_in(ADMIN).await;
        team.json(&admin, Method::PATCH, &path, json!({"password": PASSWORD}), 200).await;
        assert_eq!(kinds(&team, &team.sign_in("ann").await).await, [by_admin("password_changed")]);
    }
}
