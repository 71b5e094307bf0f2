//! Limits on the settings that admins change while the server runs: how many entries, budgets, grants and members there
//! can be, and how long their texts can be.

use reqwest::Method;
use serde_json::{Map, Value, json};
use sqlx::AssertSqlSafe;
use tallybook_mock_llm::MockLlm;

use crate::{
    accounts::kit::{ADMIN, Team},
    support::{Engine, execute, on_every_engine},
};

const MODELS: &str = "/api/admin/models";
const TOOL_SERVERS: &str = "/api/admin/tool-servers";

/// Returns the settings of a model with one of them replaced.
fn model(name: &str, field: &str, value: Value) -> Value {
    let mut model = json!({"name": name, "provider": "openai", "model": "m", "base_url": "http://127.0.0.1:9"});
    model[field] = value;
    model
}

/// Returns the settings of a tool server with one of them replaced.
fn tool_server(name: &str, field: &str, value: Value) -> Value {
    let mut server = json!({"name": name, "url": "http://127.0.0.1:9/mcp"});
    server[field] = value;
    server
}

fn headers(count: usize, bytes: usize) -> Value {
    // A name of three bytes, and the value.
    let header = |number: usize| (format!("x{number:02}"), json!("v".repeat(bytes - 3)));
    Value::Object((0..count).map(header).collect::<Map<_, _>>())
}

fn url(start: &str, chars: usize) -> Value {
    json!(format!("{start}{}", "x".repeat(chars - start.len())))
}

on_every_engine! {
    async fn settings_at_a_limit_are_accepted_and_those_above_are_refused(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let admin = team.sign_in(ADMIN).await;
        let members = format!("/api/groups/{}/members", team.json(&admin, Method::POST, "/api/groups", json!({"name": "Staff"}), 201).await["id"]);
        let patterns = |count: usize| json!(vec!["x"; count]);
        let users = |count: i64| json!({"user_ids": (1_000_000..1_000_000 + count).collect::<Vec<_>>()});
        let grants = |name: &str, count: usize| json!({"name": name, "grants": vec!["share"; count]});
        let budget = |user: i64| json!({"principal": format!("user:{}", 1_000_000 + user), "period": "day", "tokens": 1});
        let budgets = |count: i64| Value::Array((0..count).map(budget).collect());
        // At the limits of members and budgets, the users do not exist.
        for (method, path, at_limit, status, above, words) in [
            (Method::POST, MODELS, model("a", "api_key", json!("k".repeat(4096))), 201, model("b", "api_key", json!("k".repeat(4097))), "at most 4096 bytes"),
            (Method::POST, MODELS, model("c", "model", json!("模".repeat(200))), 201, model("d", "model", json!("模".repeat(201))), "model must have at most 200 characters"),
            (Method::POST, MODELS, model("e", "base_url", url("http://127.0.0.1:9/", 2000)), 201, model("f", "base_url", url("http://127.0.0.1:9/", 2001)), "base_url must have at most 2000 characters"),
            (Method::POST, TOOL_SERVERS, tool_server("a", "url", url("http://127.0.0.1:9/", 2000)), 201, tool_server("b", "url", url("http://127.0.0.1:9/", 2001)), "url must have at most 2000 characters"),
            (Method::POST, TOOL_SERVERS, tool_server("c", "headers", headers(20, 8192)), 201, tool_server("d", "headers", headers(21, 10)), "at most 20 members"),
            (Method::POST, TOOL_SERVERS, tool_server("e", "headers", headers(1, 8192)), 201, tool_server("f", "headers", headers(1, 8193)), "at most 8192 bytes"),
            (Method::POST, TOOL_SERVERS, tool_server("g", "include", patterns(500)), 201, tool_server("h", "include", patterns(501)), "include must have at most 500 patterns"),
            (Method::POST, TOOL_SERVERS, tool_server("i", "exclude", json!(["x".repeat(200)])), 201, tool_server("j", "exclude", json!(["x".repeat(201)])), "of at most 200 characters"),
            (Method::POST, "/api/groups", grants("a", 100), 201, grants("b", 101), "at most 100 grants"),
            (Method::PUT, &members, users(10_000), 422, users(10_001), "at most 10000 members"),
            (Method::PUT, "/api/admin/budgets", budgets(1000), 422, budgets(1001), "at most 1000 budgets"),
        ] {
            let accepted = team.send(&admin, method.clone(), path, at_limit).await;
            let (found, text) = (accepted.status().as_u16(), accepted.text().await.unwrap());
            assert_eq!(found, status, "{words}: {text}");
            assert_eq!(text.contains("There is no user with the ID"), status == 422, "{words}: {text}");
            let refused = team.json(&admin, method, path, above, 422).await;
            assert!(refused["detail"].as_str().unwrap().contains(words), "{words}: {refused}");
        }
    }

    async fn there_can_be_two_hundred_added_models(engine: Engine) {
        let team = Team::start(&engine, &MockLlm::start().await.unwrap()).await;
        let admin = team.sign_in(ADMIN).await;
        let row = |number: usize| {
            let settings = model(&format!("m{number}"), "model", json!("m"));
            format!("('model', 'm{number}', '{settings}', 1, '2026-01-01 00:00:00', '2026-01-01 00:00:00')")
        };
        let rows = (1..200).map(row).collect::<Vec<_>>().join(", ");
        let columns = "kind, name, settings, version, created_at, updated_at";
        execute!(team.app, AssertSqlSafe(format!("INSERT INTO catalog_entries ({columns}) VALUES {rows}")));
        let add = async |name: &str| team.send(&admin, Method::POST, MODELS, model(name, "model", json!("m"))).await;
        assert_eq!(add("last").await.status(), 201);
        let refused = add("another").await;
        assert_eq!(refused.status(), 409);
        let problem: Value = refused.json().await.unwrap();
        assert_eq!(problem["type"], "/problems/too-many", "{problem}");
        let listed = team.json(&admin, Method::GET, MODELS, Value::Null, 200).await;
        assert_eq!(listed["items"].as_array().unwrap().iter().filter(|model| model["origin"] == "page").count(), 200);
    }
}
