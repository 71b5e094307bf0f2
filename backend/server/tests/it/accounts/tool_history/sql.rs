//! Runs every query of `docs/reference/sql.md` on every engine. Each query must return rows.

use reqwest::{Method, StatusCode};
use serde_json::json;
use sqlx::AssertSqlSafe;
use tallybook_mock_llm::MockLlm;

use super::{
    super::kit::{ADMIN, Team},
    kit::{Call, run, say_why, start, write_call, write_turn},
};
use crate::support::{Engine, Pool, on_every_engine};

const DOCUMENT: &str = include_str!("../../../../../../docs/reference/sql.md");

/// Returns the queries of the document, each with the question above it.
fn queries() -> Vec<(&'static str, &'static str)> {
    let blocks = DOCUMENT.split("```sql\n").collect::<Vec<_>>();
    let question = |text: &'static str| text.rsplit("\n## ").next().unwrap().lines().next().unwrap();
    let query = |text: &'static str| text.split("```").next().unwrap().trim().trim_end_matches(';');
    blocks.windows(2).map(|pair| (question(pair[0]), query(pair[1]))).collect()
}

on_every_engine! {
    async fn every_documented_query_returns_rows(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let (_, ann) = team.user(&admin, "ann").await;
        let db = engine.pool().await;
        write_turn(&db, 1, ann, "Small").await;
        for call in [
            Call { output: Some("not found"), ..Call::new(1, 1) },
            Call { status: "error", error: Some("timeout"), output: None, duration_ms: Some(6000), ..Call::new(2, 1) },
            Call { status: "denied", ..Call::new(3, 1) },
            Call { status: "interrupted", ..Call::new(4, 1) },
        ] {
            write_call(&db, &call).await;
        }
        run!(
            &db,
            "INSERT INTO approvals (tool_call_id, decision, decided_by, decided_by_kind, proposed_input, created_at) \
             VALUES (3, 'deny', 'ann', 'user', '{}', ?)",
            start()
        );
        say_why(&team, &admin, "/admin/calls/1", "to help").await;
        team.get(&admin, "/admin/calls/1").await;
        assert_eq!(team.try_sign_in(ADMIN, "not the password").await.status(), StatusCode::UNAUTHORIZED);
        team.json(&admin, Method::PATCH, "/api/admin/settings", json!({"sharing": false}), 200).await;
        let queries = queries();
        assert_eq!(queries.len(), 12);
        for (question, query) in queries {
            let query = AssertSqlSafe(query.to_owned());
            let rows = match &db {
                Pool::MySql(pool) => sqlx::query(query).fetch_all(pool).await.map(|rows| rows.len()),
                Pool::Sqlite(pool) => sqlx::query(query).fetch_all(pool).await.map(|rows| rows.len()),
            };
            let rows = rows.unwrap_or_else(|error| panic!("{question}: {error}"));
            assert!(rows > 0, "{question}");
        }
    }
}
