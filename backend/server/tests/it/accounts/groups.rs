//! Groups: what only their members may use, and their shared budgets. `group_changes` has changes of groups, `rights`
//! says who may change them, and `openid::groups` has the groups that the identity provider names.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_mock_mcp::MockMcp;

use crate::{
    accounts::kit::{ADMIN, PASSWORD, Team, Who},
    bad_input::assert_problem,
    support::{Engine, eventually, execute, on_every_engine, rows},
};

/// Starts a model and a server with accounts, and signs the admin in.
pub(crate) async fn start(engine: &Engine) -> (MockLlm, Team, Who) {
    let model = MockLlm::start().await.unwrap();
    let team = Team::start(engine, &model).await;
    let admin = team.sign_in(ADMIN).await;
    (model, team, admin)
}

/// Creates a group with these grants and members, and returns its ID.
pub(crate) async fn group(team: &Team, admin: &Who, name: &str, grants: &[&str], members: &[i64]) -> i64 {
    let new = json!({"name": name, "grants": grants});
    let id = team.json(admin, Method::POST, "/api/groups", new, 201).await["id"].as_i64().unwrap();
    set_members(team, admin, id, members).await;
    id
}

pub(crate) async fn set_members(team: &Team, admin: &Who, group: i64, members: &[i64]) {
    let path = format!("/api/groups/{group}/members");
    let stored = team.json(admin, Method::PUT, &path, json!({"user_ids": members}), 200).await;
    assert_eq!(stored["items"].as_array().unwrap().len(), members.len());
    assert_eq!(team.json(admin, Method::GET, &path, Value::Null, 200).await, stored);
}

/// Adds the model `Opal`.
pub(crate) async fn add_opal(team: &Team, admin: &Who, model: &MockLlm) {
    let new = json!({"name": "Opal", "provider": "anthropic", "base_url": model.url(), "api_key": "a key"});
    team.json(admin, Method::POST, "/api/admin/models", new, 201).await;
}

/// Returns the names at `path`, a list of models or tools. An asterisk marks the default.
pub(crate) async fn names(team: &Team, who: &Who, path: &str) -> Vec<String> {
    let list = team.json(who, Method::GET, path, Value::Null, 200).await;
    let items = list.get("items").or(list.get("data")).unwrap().as_array().unwrap();
    let name = |item: &Value| item.get("name").or(item.get("id")).unwrap().as_str().unwrap().to_owned();
    let mark = |item: &Value| if item["is_default"] == true { "*" } else { "" };
    items.iter().map(|item| name(item) + mark(item)).collect()
}

on_every_engine! {
    async fn a_granted_model_is_only_for_the_members_and_admins(engine: Engine) {
        let (model, team, admin) = start(&engine).await;
        let ((ann, ann_id), (bob, _)) = (team.user(&admin, "ann").await, team.user(&admin, "bob").await);
        add_opal(&team, &admin, &model).await;
        let all = names(&team, &bob, "/api/models").await;
        assert_eq!((all.len(), all[1].as_str()), (2, "Opal"));
        group(&team, &admin, "Staff", &["model:Opal"], &[ann_id]).await;

        for (who, may_use) in [(&admin, true), (&ann, true), (&bob, false)] {
            assert_eq!(names(&team, who, "/api/models").await.contains(&"Opal".to_owned()), may_use);
            let program = team.program(who).await;
            let listed = names(&team, &program, "/v1/models").await;
            assert_eq!(listed.contains(&"Opal:plain".to_owned()), may_use, "{listed:?}");
            let page = team.get(who, "/").await.text().await.unwrap();
            assert_eq!(page.contains("Opal"), may_use);
            let body = json!({"model": "Opal", "messages": [{"role": "user", "content": "Go?"}]});
            let response = json!({"model": "Opal", "input": "Go?"});
            let requests = [("/v1/chat/completions", body.clone()), ("/v1/responses", response), ("/v1/chat", body)];
            if may_use {
                for (path, body) in requests {
                    model.reply([text("By Opal.")]);
                    team.json(&program, Method::POST, path, body, 200).await;
                }
                team.json(who, Method::POST, "/api/conversations", json!({"model": "Opal"}), 201).await;
            } else {
                team.json(&program, Method::GET, "/v1/models/Opal", Value::Null, 404).await;
                for (path, body) in requests {
                    let refused = team.json(&program, Method::POST, path, body, 404).await;
                    assert_eq!(refused["error"]["code"], "model_not_found", "{refused}");
                }
                let new = team.send(who, Method::POST, "/api/conversations", json!({"model": "Opal"})).await;
                let detail = assert_problem(new, 422, "unknown-model").await["detail"].clone();
                assert!(!detail.as_str().unwrap().ends_with("Opal."), "{detail}");
            }
        }
    }

    /// A turn keeps the model that it began with, also if its user loses the model meanwhile.
    async fn a_model_that_is_revoked_in_mid_turn_answers_to_the_end(engine: Engine) {
        let (model, team, admin) = start(&engine).await;
        let (ann, id) = team.user(&admin, "ann").await;
        add_opal(&team, &admin, &model).await;
        let staff = group(&team, &admin, "Staff", &["model:Opal"], &[id]).await;
        let new = team.json(&ann, Method::POST, "/api/conversations", json!({"model": "Opal"}), 201).await;
        let conversation = new["uuid"].as_str().unwrap();
        let gate = model.reply_gated([text("By ")], [text("Opal.")]);
        let answer = team.post_message(&ann, conversation).await;
        gate.reached().await;
        set_members(&team, &admin, staff, &[]).await;
        gate.open();
        assert!(answer.text().await.unwrap().contains("event: message_end"));

        let refused = assert_problem(team.post_message(&ann, conversation).await, 422, "model-gone").await;
        assert!(refused["detail"].as_str().unwrap().contains("\"Opal\""), "{refused}");
        let stored = team.json(&ann, Method::GET, &format!("/api/conversations/{conversation}"), Value::Null, 200).await;
        assert_eq!(stored["messages"][1]["content"], "By Opal.");
        // Another model can answer again.
        let others = names(&team, &ann, "/api/models").await;
        let other = others[0].trim_end_matches('*');
        model.reply([text("By another.")]);
        let path = format!("/api/conversations/{conversation}/messages");
        let again = team.send(&ann, Method::POST, &path, json!({"content": "And now?", "model": other})).await;
        assert!(again.text().await.unwrap().contains("By another."));
    }

    /// If the default model is granted to others, the first model of a user is their default.
    async fn a_user_without_the_default_model_has_another_default_or_none(engine: Engine) {
        let (model, team, admin) = start(&engine).await;
        let (bob, _) = team.user(&admin, "bob").await;
        add_opal(&team, &admin, &model).await;
        let default = names(&team, &bob, "/api/models").await[0].trim_end_matches('*').to_owned();
        let staff = group(&team, &admin, "Staff", &[&format!("model:{default}")], &[]).await;
        assert_eq!(names(&team, &bob, "/api/models").await, ["Opal*"]);
        let conversation = team.conversation(&bob).await;
        model.reply([text("By Opal.")]);
        team.ask(&bob, &conversation, "Go?").await;
        let used = rows!(team.app, (String,), "SELECT model FROM messages WHERE role = 'assistant'");
        assert_eq!(used, [("Opal".to_owned(),)]);

        let grants = json!({"grants": [format!("model:{default}"), "model:Opal"]});
        team.json(&admin, Method::PATCH, &format!("/api/groups/{staff}"), grants, 200).await;
        assert_eq!(names(&team, &bob, "/api/models").await, [""; 0]);
        assert_problem(team.post_message(&bob, &conversation).await, 403, "no-model").await;
        let program = team.program(&bob).await;
        let body = json!({"messages": [{"role": "user", "content": "Go?"}]});
        team.json(&program, Method::POST, "/v1/chat/completions", body, 403).await;
        for path in ["/".to_owned(), format!("/c/{conversation}")] {
            assert_eq!(team.get(&bob, &path).await.status(), 200);
        }
    }

    /// An answer that is regenerated or continued follows the permissions of that moment.
    async fn a_revoked_model_neither_regenerates_nor_continues_an_answer(engine: Engine) {
        let (model, team, admin) = start(&engine).await;
        let (ann, id) = team.user(&admin, "ann").await;
        add_opal(&team, &admin, &model).await;
        let staff = group(&team, &admin, "Staff", &["model:Opal"], &[id]).await;
        let conversation = team.conversation(&ann).await;
        let path = format!("/api/conversations/{conversation}");
        let gate = model.reply_gated([text("By ")], [text("Opal.")]);
        let asked = json!({"content": "Go?", "model": "Opal"});
        let answer = team.send(&ann, Method::POST, &format!("{path}/messages"), asked).await;
        gate.reached().await;
        assert_eq!(team.send(&ann, Method::POST, &format!("{path}/stop"), json!({})).await.status(), 204);
        assert!(answer.text().await.unwrap().contains("event: message_end"));
        gate.open();
        set_members(&team, &admin, staff, &[]).await;
        let stored = team.json(&ann, Method::GET, &path, Value::Null, 200).await;
        let regenerate = format!("{path}/messages/{}/regenerate", stored["messages"][1]["id"]);
        let refused = team.send(&ann, Method::POST, &regenerate, json!({"model": "Opal"})).await;
        assert_problem(refused, 422, "unknown-model").await;
        let chosen = team.send(&ann, Method::PATCH, &path, json!({"model": "Opal"})).await;
        assert_problem(chosen, 422, "unknown-model").await;

        // A stopped answer continues with another model.
        model.reply([text("By another.")]);
        let continued = team.send(&ann, Method::POST, &format!("{path}/continue"), json!({})).await;
        assert!(continued.text().await.unwrap().contains("By another."));
        let used = rows!(team.app, (String,), "SELECT model FROM messages WHERE role = 'assistant'");
        assert_ne!(used[0].0, "Opal");
    }

    async fn tools_of_a_granted_server_are_only_for_the_members(engine: Engine) {
        let (model, team, admin) = start(&engine).await;
        let server = MockMcp::start(&[]).await.unwrap();
        let ((ann, ann_id), (bob, _)) = (team.user(&admin, "ann").await, team.user(&admin, "bob").await);
        let new = json!({"name": "files", "url": server.url(), "risk": "low"});
        team.json(&admin, Method::POST, "/api/admin/tool-servers", new, 201).await;
        let echo = "files__echo".to_owned();
        let has_tool = async |who| names(&team, who, "/api/tools").await.contains(&echo);
        eventually("the tool server is connected", async || has_tool(&bob).await).await;
        group(&team, &admin, "Staff", &["tool_server:files"], &[ann_id]).await;

        for (who, may_use) in [(&ann, true), (&bob, false)] {
            assert_eq!(has_tool(who).await, may_use);
            let listed = team.json(who, Method::GET, "/api/tools", Value::Null, 200).await;
            assert_eq!(listed["servers"].as_array().unwrap().len(), usize::from(may_use));
            let conversation = team.conversation(who).await;
            model.reply([tool_call(&echo, r#"{"text":"hello"}"#)]);
            model.reply([text("Done.")]);
            team.ask(who, &conversation, "Echo").await;
            let asked = &model.requests()[model.requests().len() - 2];
            assert_eq!(asked.body["tools"].to_string().contains(&echo), may_use);
            let program = team.program(who).await;
            for (path, body) in [
                ("/v1/chat/completions", json!({"messages": [{"role": "user", "content": "Go?"}]})),
                ("/v1/responses", json!({"input": "Go?"})),
                ("/v1/chat", json!({"messages": [{"role": "user", "content": "Go?"}]})),
            ] {
                model.reply([text("Yes.")]);
                team.json(&program, Method::POST, path, body, 200).await;
                let asked = model.requests().pop().unwrap();
                assert_eq!(asked.body["tools"].to_string().contains(&echo), may_use, "{path}");
            }
        }
        let calls = rows!(team.app, (String, Option<String>), "SELECT status, error_type FROM tool_calls ORDER BY id");
        assert_eq!(calls, [("success".to_owned(), None), ("error".to_owned(), Some("unknown_tool".to_owned()))]);
    }

    /// A call that waits for approval does not run if its user loses the tool server meanwhile. The turn continues.
    async fn a_revoked_tool_server_does_not_run_a_call_that_waited(engine: Engine) {
        let (model, team, admin) = start(&engine).await;
        let server = MockMcp::start(&[]).await.unwrap();
        let (ann, id) = team.user(&admin, "ann").await;
        let new = json!({"name": "files", "url": server.url(), "risk": "high"});
        team.json(&admin, Method::POST, "/api/admin/tool-servers", new, 201).await;
        let echo = "files__echo".to_owned();
        eventually("the tool server is connected", async || names(&team, &ann, "/api/tools").await.contains(&echo)).await;
        let staff = group(&team, &admin, "Staff", &["tool_server:files"], &[id]).await;
        let conversation = team.conversation(&ann).await;
        model.reply([tool_call(&echo, r#"{"text":"hello"}"#)]);
        team.ask(&ann, &conversation, "Echo").await;
        let waiting = rows!(team.app, (i64, String), "SELECT id, status FROM tool_calls");
        assert_eq!(waiting[0].1, "awaiting_approval");

        set_members(&team, &admin, staff, &[]).await;
        model.reply([text("It is gone.")]);
        let path = format!("/api/tool-calls/{}/decision", waiting[0].0);
        let answer = team.send(&ann, Method::POST, &path, json!({"decision": "approve"})).await;
        assert!(answer.text().await.unwrap().contains("It is gone."));
        let calls = rows!(team.app, (String, Option<String>), "SELECT status, error_type FROM tool_calls");
        assert_eq!(calls, [("error".to_owned(), Some("unknown_tool".to_owned()))]);
        assert!(!server.seen().contains(&"tools/call echo".to_owned()));
    }

    async fn granted_rights_are_only_for_the_members(engine: Engine) {
        let (model, team, admin) = start(&engine).await;
        let ((ann, ann_id), (bob, _)) = (team.user(&admin, "ann").await, team.user(&admin, "bob").await);
        let bobs_program = team.program(&bob).await;
        group(&team, &admin, "Staff", &["make_keys", "upload", "share"], &[ann_id]).await;
        for (who, status) in [(&ann, 201), (&admin, 201), (&bob, 403)] {
            let conversation = team.conversation(who).await;
            model.reply([text("Yes.")]);
            team.ask(who, &conversation, "Go?").await;
            let shares = format!("/api/conversations/{conversation}/shares");
            let key = json!({"name": "mine", "password": PASSWORD});
            for (path, body) in [(shares.as_str(), json!({})), ("/api/keys", key), ("/api/files?name=a.txt", json!("a"))] {
                let answer = team.send(who, Method::POST, path, body).await;
                assert_eq!(answer.status().as_u16(), status, "{path}");
                if status == 403 {
                    assert_problem(answer, 403, "not-permitted").await;
                }
            }
            let rights = &team.json(who, Method::GET, "/api/me", Value::Null, 200).await["rights"];
            let has = status == 201;
            assert_eq!(rights, &json!({"make_keys": has, "upload": has, "share": has}));
        }
        // A file in a request of an API client is an upload, too.
        let image = json!({"type": "file", "file": {"filename": "a.txt", "file_data": "data:text/plain;base64,YQ=="}});
        let body = json!({"messages": [{"role": "user", "content": [{"type": "text", "text": "Read"}, image]}]});
        let refused = team.json(&bobs_program, Method::POST, "/v1/chat/completions", body, 403).await;
        assert_eq!(refused["error"]["code"], "not_permitted", "{refused}");
    }

    /// A removed model keeps its grants, so that a new model of the same name is not open to all users.
    async fn a_new_model_with_the_name_of_a_removed_one_keeps_its_grants(engine: Engine) {
        let (model, team, admin) = start(&engine).await;
        let (bob, _) = team.user(&admin, "bob").await;
        add_opal(&team, &admin, &model).await;
        let staff = group(&team, &admin, "Staff", &["model:Opal"], &[]).await;
        team.json(&admin, Method::DELETE, "/api/admin/models/Opal", Value::Null, 204).await;
        // Other grants can change meanwhile.
        let grants = json!({"grants": ["model:Opal", "upload"]});
        team.json(&admin, Method::PATCH, &format!("/api/groups/{staff}"), grants, 200).await;
        add_opal(&team, &admin, &model).await;
        assert_eq!(names(&team, &bob, "/api/models").await.len(), 1);
    }

    /// The user's groups are read once at the beginning of a turn: for models, tools and budgets together.
    async fn a_turn_reads_the_groups_of_its_user_once(engine: Engine) {
        let (model, team, admin) = start(&engine).await;
        let (ann, id) = team.user(&admin, "ann").await;
        let program = team.program(&ann).await;
        let statements = async || {
            let metrics = team.get(&admin, "/metrics").await.text().await.unwrap();
            let count = metrics.lines().find_map(|line| line.strip_prefix("tallybook_database_statements_total "));
            count.unwrap().parse::<u64>().unwrap()
        };
        // Tasks in the background also run statements, so the turn with the fewest counts. On a busy machine it may
        // take many turns until one runs beside none of them.
        let fewest = async |is_api: bool, turns: usize, enough: u64| {
            let mut fewest = u64::MAX;
            for _ in 0..turns {
                model.reply([text("Yes.")]);
                // In a new conversation each, because more is read of a longer history.
                let uuid = team.conversation(&ann).await;
                let before = statements().await;
                if is_api {
                    let body = json!({"model": "test-model", "messages": [{"role": "user", "content": "Well?"}]});
                    let answer = team.send(&program, Method::POST, "/v1/chat/completions", body).await;
                    assert_eq!(answer.status(), StatusCode::OK);
                    answer.text().await.unwrap();
                } else {
                    team.ask(&ann, &uuid, "Well?").await;
                }
                fewest = fewest.min(statements().await - before);
                if fewest <= enough {
                    break;
                }
            }
            fewest
        };
        let without = [fewest(false, 6, 0).await, fewest(true, 6, 0).await];
        group(&team, &admin, "Crew", &["model:test-model"], &[id]).await;
        for (is_api, without) in [(false, without[0]), (true, without[1])] {
            let with = fewest(is_api, 60, without + 1).await;
            assert!(with <= without + 1, "{with} statements, without groups {without}");
        }
    }

    async fn a_budget_of_a_group_is_shared_by_its_members(engine: Engine) {
        let (model, team, admin) = start(&engine).await;
        let ((ann, ann_id), (bob, bob_id)) = (team.user(&admin, "ann").await, team.user(&admin, "bob").await);
        let (eve, _) = team.user(&admin, "eve").await;
        let staff = group(&team, &admin, "Staff", &[], &[ann_id, bob_id]).await;
        let missing = json!([{"principal": "group:999999", "period": "day", "tokens": 5}]);
        team.json(&admin, Method::PUT, "/api/admin/budgets", missing, 422).await;
        let budget = json!([{"principal": format!("group:{staff}"), "period": "month", "cost_nanos": 500}]);
        team.json(&admin, Method::PUT, "/api/admin/budgets", budget, 200).await;

        let anns = team.conversation(&ann).await;
        model.reply([text("Yes.")]);
        team.ask(&ann, &anns, "Go?").await;
        execute!(team.app, "UPDATE model_calls SET cost_nanos = 600");
        let bobs = team.conversation(&bob).await;
        let refused = team.post_message(&bob, &bobs).await;
        let problem = assert_problem(refused, 429, "budget-used-up").await;
        assert!(problem["detail"].as_str().unwrap().starts_with("Your group's budget of money for this month"), "{problem}");
        let me = team.json(&bob, Method::GET, "/api/me", Value::Null, 200).await;
        assert_eq!(me["groups"], json!(["Staff"]));
        let shown = &me["budgets"];
        assert_eq!((&shown[0]["group"], &shown[0]["cost_nanos"]["used"]), (&json!("Staff"), &json!(600)), "{shown}");

        // The usage of a user who deletes the account still counts.
        let gone = team.json(&ann, Method::DELETE, "/api/me", json!({"password": PASSWORD}), 204).await;
        assert_eq!(gone, Value::Null);
        assert_problem(team.post_message(&bob, &bobs).await, 429, "budget-used-up").await;
        let left = team.json(&admin, Method::GET, &format!("/api/groups/{staff}/members"), Value::Null, 200).await;
        assert_eq!(left["items"], json!([{"id": bob_id, "name": "bob"}]));

        let eves = team.conversation(&eve).await;
        model.reply([text("Outside.")]);
        team.ask(&eve, &eves, "Go?").await;
        assert_eq!(team.send(&admin, Method::DELETE, &format!("/api/groups/{staff}"), Value::Null).await.status(), 204);
        assert_eq!(team.json(&admin, Method::GET, "/api/admin/budgets", Value::Null, 200).await, json!([]));
        model.reply([text("Free.")]);
        team.ask(&bob, &bobs, "Go?").await;
    }
}

/// Another server of the database applies grants and members, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_server_applies_the_permissions() {
    for engine in Engine::every_mysql_with_tables().await {
        let model = MockLlm::start().await.unwrap();
        let (team, second, admin) = Team::start_two(&engine, &model).await;
        let (ann, id) = team.user(&admin, "ann").await;
        add_opal(&team, &admin, &model).await;
        let has_opal = async || names(&second, &ann, "/api/models").await.contains(&"Opal".to_owned());
        eventually("the model arrives", async || has_opal().await).await;
        let staff = group(&team, &admin, "Staff", &["model:Opal"], &[]).await;
        eventually("the grant arrives", async || !has_opal().await).await;
        set_members(&team, &admin, staff, &[id]).await;
        assert!(has_opal().await, "the members are read for each request");
    }
}
