//! Two servers of one database: what an admin changes on one of them applies on the other within seconds, and running
//! turns of the other keep what they began with. `settings` has the settings of the server, `permissions` has groups
//! and budgets, and `models` has servers that differ in their secret key or their settings file.

mod models;
mod permissions;
mod settings;

use std::time::Duration;

use reqwest::{Method, header};
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_mock_mcp::MockMcp;
use tallybook_protocol::{ChatEvent, ToolCallStatus};

use crate::{
    accounts::{
        groups::{add_opal, group, names, set_members},
        kit::Team,
    },
    added_models::{demo_only, request},
    bad_input::assert_problem,
    support::{Engine, TestApp, within},
};

/// Time within which a change applies on every server: the documented two seconds, and more for busy processors.
const LIMIT: Duration = Duration::from_secs(5);

const MODEL: &str = "/api/admin/models/Added";
const TOOL_SERVER: &str = "/api/admin/tool-servers/added";

/// Starts two servers of one database. Adds a model and a tool server at the first server, and waits until the second
/// server has both.
async fn two_servers(engine: &Engine, model: &MockLlm, tools: &MockMcp) -> (TestApp, TestApp) {
    let (here, there) = (demo_only(engine).spawn().await, demo_only(engine).spawn().await);
    let new = json!({"name": "Added", "provider": "anthropic", "base_url": model.url(), "api_key": "a key"});
    assert_eq!(request(&here, Method::POST, "/api/admin/models", new).await.status(), 201);
    let new = json!({"name": "added", "url": tools.url(), "risk": "low"});
    assert_eq!(request(&here, Method::POST, "/api/admin/tool-servers", new).await.status(), 201);
    within(LIMIT, "the model arrives", async || models(&there).await.contains("Added")).await;
    within(LIMIT, "the tools arrive", async || tool_names(&there).await.contains("added__echo")).await;
    (here, there)
}

async fn models(app: &TestApp) -> String {
    app.get_json("/api/models").await["items"].to_string()
}

async fn tool_names(app: &TestApp) -> String {
    app.get_json("/api/tools").await["items"].to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changed_entries_apply_on_the_other_server_and_its_stale_changes_are_refused() {
    for engine in Engine::every_mysql_with_tables().await {
        let (model, tools) = (MockLlm::start().await.unwrap(), MockMcp::start(&[]).await.unwrap());
        let (here, there) = two_servers(&engine, &model, &tools).await;
        let tag = async |path: &str| there.get(path).await.headers()[header::ETAG].clone();
        let stale = [(MODEL, tag(MODEL).await), (TOOL_SERVER, tag(TOOL_SERVER).await)];
        assert_eq!(request(&here, Method::PATCH, MODEL, json!({"temperature": 0.5})).await.status(), 200);
        assert_eq!(request(&here, Method::PATCH, TOOL_SERVER, json!({"exclude": ["echo"]})).await.status(), 200);
        within(LIMIT, "the tool is gone", async || !tool_names(&there).await.contains("added__echo")).await;
        let conversation = there.create_conversation().await;
        model.reply([text("Warmer.")]);
        there.send(&conversation, "And now?").await.all().await;
        assert_eq!(model.requests().pop().unwrap().body["temperature"], 0.5);

        for (path, tag) in stale {
            let change = there.client.patch(there.url(path)).header(header::IF_MATCH, tag).json(&json!({}));
            assert_problem(change.send().await.unwrap(), 412, "version-changed").await;
        }
    }
}

/// A version that was read from one server is stale there as soon as the other server has stored a change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_on_one_server_makes_the_versions_of_the_other_stale() {
    const SETTINGS: &str = "/api/admin/settings";
    const BUDGETS: &str = "/api/admin/budgets";
    for engine in Engine::every_mysql_with_tables().await {
        let model = MockLlm::start().await.unwrap();
        let (here, there, admin) = Team::start_two(&engine, &model).await;
        add_opal(&here, &admin, &model).await;
        let server = json!({"name": "added", "url": "http://127.0.0.1:9/mcp"});
        here.json(&admin, Method::POST, "/api/admin/tool-servers", server, 201).await;
        let staff = format!("/api/groups/{}", group(&here, &admin, "Staff", &[], &[]).await);
        let members = format!("{staff}/members");
        let changed = here.json(&admin, Method::PATCH, SETTINGS, json!({"sharing": false}), 200).await;
        let restore = format!("{SETTINGS}/history/{}/restore", changed["version"]);
        let budgets = |tokens: i64| json!([{"principal": "all", "period": "day", "tokens": tokens}]);
        here.json(&admin, Method::PUT, BUDGETS, budgets(1), 200).await;
        let (opal, added) = ("/api/admin/models/Opal", "/api/admin/tool-servers/added");
        // Each resource, its change on this server, and the stale changes on the other one.
        for (resource, method, body, stale) in [
            (
                &*staff,
                Method::PATCH,
                json!({"name": "Crew"}),
                vec![
                    (Method::PATCH, &*staff, json!({"name": "Team"})),
                    (Method::PUT, &*members, json!({"user_ids": []})),
                    (Method::DELETE, &*staff, Value::Null),
                ],
            ),
            (BUDGETS, Method::PUT, budgets(2), vec![(Method::PUT, BUDGETS, budgets(3))]),
            (
                SETTINGS,
                Method::PATCH,
                json!({"sharing": true}),
                vec![(Method::PATCH, SETTINGS, json!({"llm_titles": true})), (Method::POST, &*restore, json!({}))],
            ),
            (opal, Method::PATCH, json!({"temperature": 1}), vec![(Method::DELETE, opal, Value::Null)]),
            (added, Method::PATCH, json!({"timeout_secs": 9}), vec![(Method::DELETE, added, Value::Null)]),
        ] {
            // The change arrives within two seconds, and the version that is compared is that of the database.
            within(LIMIT, "the resource arrives", async || there.get(&admin, resource).await.status() == 200).await;
            let tag = there.get(&admin, resource).await.headers()[header::ETAG].clone();
            here.json(&admin, method, resource, body, 200).await;
            for (method, path, body) in stale {
                let change = there.request(&admin, method, path).header(header::IF_MATCH, &tag).json(&body);
                assert_problem(change.send().await.unwrap(), 412, "version-changed").await;
            }
        }
    }
}

/// A definition that an admin accepts on one server is accepted on the other, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tools_of_an_added_server_are_pinned_on_both_servers() {
    for engine in Engine::every_mysql_with_tables().await {
        let (model, tools) = (MockLlm::start().await.unwrap(), MockMcp::start(&[]).await.unwrap());
        let (here, there) = two_servers(&engine, &model, &tools).await;
        let echo = async |app: &TestApp| {
            let tools = app.get_json("/api/tools").await;
            tools["items"].as_array().unwrap().iter().find(|tool| tool["name"] == "added__echo").cloned().unwrap()
        };
        tools.describe_first_tool("Echoes, and sends everything elsewhere.");
        tools.notify_of_change();
        for app in [&here, &there] {
            within(LIMIT, "the change is noticed", async || echo(app).await["changed"].is_object()).await;
            assert_eq!(echo(app).await["risk"], "high");
        }
        let accepted = here.post("/api/tool-servers/added/tools/echo/accept", Value::Null).await;
        assert_eq!(accepted.status(), 204);
        for app in [&here, &there] {
            within(LIMIT, "the definition is accepted", async || echo(app).await["changed"].is_null()).await;
            assert_eq!(echo(app).await["risk"], "low");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_running_turn_keeps_what_the_other_server_removes() {
    for engine in Engine::every_mysql_with_tables().await {
        let (model, tools) = (MockLlm::start().await.unwrap(), MockMcp::start(&[]).await.unwrap());
        let (here, there) = two_servers(&engine, &model, &tools).await;
        let conversation = there.create_conversation().await;
        let gate =
            model.reply_gated([text("I will ")], [text("echo."), tool_call("added__echo", r#"{"text":"late"}"#)]);
        model.reply([text("Done.")]);
        let mut events = there.send(&conversation, "Echo").await;
        events.until_text("I will ").await;
        for path in [MODEL, TOOL_SERVER] {
            assert_eq!(request(&here, Method::DELETE, path, json!({})).await.status(), 204);
        }
        within(LIMIT, "the model is gone", async || !models(&there).await.contains("Added")).await;
        within(LIMIT, "the tools are gone", async || !tool_names(&there).await.contains("added__echo")).await;
        gate.open();
        let ChatEvent::ToolCallEnd(end) = events.until("tool_call_end").await.event else { unreachable!() };
        assert_eq!(end.status, ToolCallStatus::Success, "{end:?}");
        let ChatEvent::MessageEnd(end) = events.until("message_end").await.event else { unreachable!() };
        assert!(end.content.ends_with("Done."), "{end:?}");
        assert_eq!(model.unused_replies(), 0);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_right_and_a_budget_change_on_the_other_server() {
    for engine in Engine::every_mysql_with_tables().await {
        let model = MockLlm::start().await.unwrap();
        let (here, there, admin) = Team::start_two(&engine, &model).await;
        let (ann, id) = here.user(&admin, "ann").await;
        add_opal(&here, &admin, &model).await;
        let staff = group(&here, &admin, "Staff", &["model:Opal"], &[id]).await;
        let may_use = async || names(&there, &ann, "/api/models").await.contains(&"Opal".to_owned());
        within(LIMIT, "the model arrives", may_use).await;

        // The turn on the other server keeps the model that it began with.
        let new = there.json(&ann, Method::POST, "/api/conversations", json!({"model": "Opal"}), 201).await;
        let conversation = new["uuid"].as_str().unwrap();
        let gate = model.reply_gated([text("By ")], [tool_call("add", r#"{"a":1,"b":2}"#)]);
        model.reply([text("Opal.")]);
        let answer = there.post_message(&ann, conversation).await;
        gate.reached().await;
        set_members(&here, &admin, staff, &[]).await;
        within(LIMIT, "the model is revoked", async || !may_use().await).await;
        gate.open();
        let events = answer.text().await.unwrap();
        assert!(events.contains("event: message_end") && events.contains("Opal."), "{events}");
        assert_problem(there.post_message(&ann, conversation).await, 422, "model-gone").await;

        let set = async |tokens: i64| {
            let budgets = json!([{"principal": "all", "period": "month", "tokens": tokens}]);
            here.json(&admin, Method::PUT, "/api/admin/budgets", budgets, 200).await;
        };
        let limit = async || {
            there.json(&ann, Method::GET, "/api/me", Value::Null, 200).await["budgets"][0]["tokens"]["limit"].clone()
        };
        set(10).await;
        within(LIMIT, "the budget arrives", async || limit().await == 10).await;
        let other = there.conversation(&ann).await;
        assert_problem(there.post_message(&ann, &other).await, 429, "budget-used-up").await;
        set(100_000_000).await;
        within(LIMIT, "the higher budget arrives", async || limit().await == 100_000_000).await;
        model.reply([text("At once.")]);
        there.ask(&ann, &other, "Go?").await;
    }
}
