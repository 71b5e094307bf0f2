//! API clients with keys, which use the agent as a model: conversations, responses and calls belong to a key.

use reqwest::Method;
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text, tool_call};

use super::kit::{ADMIN, Team, Who};
use crate::{
    operator_commands::{admin, said},
    support::{Engine, on_every_engine, rows},
};

/// API keys: two of Olga's, and one of an admin's. Also Olga's session.
struct Keys {
    olga: Who,
    mine: Who,
    also_mine: Who,
    foreign: Who,
}

async fn keys(team: &Team) -> Keys {
    let admin = team.sign_in(ADMIN).await;
    let (olga, _) = team.user(&admin, "olga").await;
    let (mine, also_mine) = (team.program(&olga).await, team.program(&olga).await);
    Keys { mine, also_mine, foreign: team.program(&admin).await, olga }
}

on_every_engine! {
    /// A chat belongs to the key that started it, and not to another key of the same user. The user sees the chat in
    /// the web UI.
    async fn a_chat_belongs_to_the_key_that_started_it(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let Keys { olga, mine, also_mine, foreign } = keys(&team).await;
        let ask = async |who: &Who, chat: &str| {
            model.reply([text("Yes.")]);
            let body = json!({"model": "test-model", "messages": [{"role": "user", "content": "Well?"}]});
            let request = team.request(who, Method::POST, "/v1/chat/completions").header("X-Tallybook-Conversation", chat);
            let response = request.json(&body).send().await.unwrap();
            assert_eq!(response.status(), 200);
            let uuid = response.headers()["x-tallybook-conversation"].to_str().unwrap().to_owned();
            response.text().await.unwrap();
            uuid
        };
        let first = ask(&mine, "chat").await;
        assert_eq!((ask(&mine, "chat").await, ask(&mine, &first).await), (first.clone(), first.clone()));
        for other in [&also_mine, &foreign] {
            assert_ne!(ask(other, "chat").await, first);
            assert_ne!(ask(other, &first).await, first);
        }
        let list = team.json(&olga, Method::GET, "/api/conversations", Value::Null, 200).await;
        assert_eq!(list["items"].as_array().unwrap().len(), 3);

        let stranger = team.send(&Who::default(), Method::GET, "/v1/models", Value::Null).await;
        assert_eq!(stranger.headers()["www-authenticate"], "Bearer");
        assert_eq!(stranger.status(), 401);
        let error: Value = stranger.json().await.unwrap();
        assert_eq!(error["error"]["code"], "invalid_api_key");
    }

    /// The server accepts a call's result only from the key that received the call. Another key, of an admin or of the
    /// same user, learns nothing by guessing the call's id.
    async fn a_guessed_call_id_is_refused_and_reveals_nothing(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let Keys { mine, also_mine, foreign, .. } = keys(&team).await;
        let ask = async |who: &Who, messages: Value| {
            let tools = json!([{"type": "function", "function": {"name": "look"}}]);
            let body = json!({"model": "test-model", "messages": messages, "tools": tools});
            let response = team.request(who, Method::POST, "/v1/chat/completions").json(&body).send().await.unwrap();
            (response.status().as_u16(), response.json::<Value>().await.unwrap())
        };
        let question = json!({"role": "user", "content": "My secret is 7."});
        model.reply([text("I keep it."), tool_call("look", "{}")]);
        let (_, answer) = ask(&mine, json!([question])).await;
        let message = &answer["choices"][0]["message"];
        let result = json!({"role": "tool", "tool_call_id": message["tool_calls"][0]["id"], "content": "rain"});
        let messages = json!([{"role": "user", "content": "Tell me all."}, message, result]);
        for other in [&also_mine, &foreign] {
            let (status, error) = ask(other, messages.clone()).await;
            assert_eq!((status, &error["error"]["param"]), (400, &Value::Null), "{error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        assert_eq!(model.requests().len(), 1);
        model.reply([text("Rain.")]);
        assert_eq!(ask(&mine, json!([question, message, result])).await.0, 200);
    }

    /// Only the key that created a response can continue, read or delete it. For other keys, even of the same user, it
    /// does not exist.
    async fn only_its_own_key_can_continue_a_response(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let Keys { mine, also_mine, foreign, .. } = keys(&team).await;
        let after = |previous: &Value| json!({"model": "test-model", "input": "Tell me all.", "previous_response_id": previous});
        model.reply([text("I keep it.")]);
        let asked = json!({"model": "test-model", "input": "My secret is 7."});
        let answer = team.json(&mine, Method::POST, "/v1/responses", asked, 200).await;
        let path = format!("/v1/responses/{}", answer["id"].as_str().unwrap());
        for other in [&also_mine, &foreign] {
            let error = team.json(other, Method::POST, "/v1/responses", after(&answer["id"]), 400).await;
            assert_eq!(error["error"]["code"], "previous_response_not_found");
            for method in [Method::GET, Method::DELETE] {
                assert_eq!(team.send(other, method, &path, Value::Null).await.status(), 404);
            }
        }
        assert_eq!(model.requests().len(), 1);
        model.reply([text("Seven.")]);
        team.json(&mine, Method::POST, "/v1/responses", after(&answer["id"]), 200).await;
        assert!(model.requests()[1].body_text.contains("My secret is 7."));
        assert_eq!(team.send(&mine, Method::DELETE, &path, Value::Null).await.status(), 200);
        assert_eq!(team.send(&mine, Method::GET, &path, Value::Null).await.status(), 404);
    }

    /// Over MCP, users read their own calls, and admins read all calls. Admins need a reason to open another user's
    /// call or to search in the texts of others, and the owner sees the access.
    async fn users_read_their_own_calls_over_mcp_and_admins_read_all(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let (olga, _) = team.user(&admin, "olga").await;
        let (otto, _) = team.user(&admin, "otto").await;
        let mut conversations = Vec::new();
        for who in [&olga, &otto] {
            let conversation = team.conversation(who).await;
            model.reply([tool_call("divide", r#"{"a":1,"b":0}"#)]);
            model.reply([text("No.")]);
            team.ask(who, &conversation, "Go").await;
            conversations.push(conversation);
        }
        let keys = [team.program(&olga).await, team.program(&admin).await];
        let call = async |who: &Who, name: &str, arguments: Value| {
            let params = json!({"name": name, "arguments": arguments});
            let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
            let answer = team.json(who, Method::POST, "/mcp", message, 200).await["result"].clone();
            let words = answer["content"][0]["text"].as_str().unwrap().to_owned();
            (answer["structuredContent"].clone(), words)
        };
        let users = |found: &Value| {
            let users = found["tool_calls"].as_array().unwrap().iter();
            users.map(|call| call["user"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let mine = call(&keys[0], "search_tool_calls", json!({})).await.0;
        assert_eq!(users(&mine), ["olga"]);
        assert_eq!(users(&call(&keys[0], "search_tool_calls", json!({"filter": "zero"})).await.0), ["olga"]);
        let all = call(&keys[1], "search_tool_calls", json!({})).await.0;
        assert_eq!(users(&all), ["otto", "olga"]);
        assert_eq!(all["tool_calls"][0]["title"], Value::Null, "titles of other users are hidden");
        let inputs = |found: &Value| found["tool_calls"].as_array().unwrap().iter().map(|call| call["input"].clone()).collect::<Vec<_>>();
        assert_eq!(inputs(&all), [Value::Null, Value::Null], "other users' inputs need a reason");
        assert_eq!(inputs(&mine), [r#"{"a":1,"b":0}"#]);
        let ottos = call(&keys[1], "search_tool_calls", json!({"filter": "user:otto", "reason": "to help"})).await.0;
        assert_eq!(inputs(&ottos), [r#"{"a":1,"b":0}"#]);
        assert_eq!(inputs(&call(&keys[1], "search_tool_calls", json!({})).await.0), [json!(r#"{"a":1,"b":0}"#), Value::Null]);
        let (ottos, olgas) = (all["tool_calls"][0]["id"].clone(), all["tool_calls"][1]["id"].clone());

        // The answer for another user's call is the same as for a call that does not exist.
        let foreign = call(&keys[0], "get_tool_call", json!({"id": ottos, "reason": "please"})).await;
        assert_eq!(foreign, call(&keys[0], "get_tool_call", json!({"id": 999_999})).await);
        assert!(foreign.1.contains("tool call does not exist"), "{}", foreign.1);
        let there = json!({"filter": format!("conversation:{} zero", conversations[1]), "reason": "please"});
        let not_there = json!({"filter": "conversation:00000000-0000-4000-8000-000000000000 zero"});
        let (there, not_there) =
            (call(&keys[0], "search_tool_calls", there).await, call(&keys[0], "search_tool_calls", not_there).await);
        assert_eq!(there, not_there);
        assert!(call(&keys[0], "search_tool_calls", json!({"filter": "user:otto"})).await.1.contains("Only admins"));
        assert_eq!(call(&keys[0], "get_tool_call", json!({"id": olgas})).await.0["user"], "olga");

        let refused = call(&keys[1], "get_tool_call", json!({"id": olgas})).await;
        assert!(refused.0.is_null() && refused.1.contains("Set reason"), "{}", refused.1);
        let whole = call(&keys[1], "get_tool_call", json!({"id": olgas, "reason": "an audit"})).await.0;
        assert_eq!(whole["error"], "invalid_b: division by zero");
        let access_log = team.json(&olga, Method::GET, "/api/looks", Value::Null, 200).await;
        assert_eq!((&access_log["items"][0]["reason"], &access_log["items"][0]["by"]), (&json!("an audit"), &json!(ADMIN)));
    }

    async fn an_operator_lists_and_revokes_keys(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let root = team.sign_in(ADMIN).await;
        let (olga, _) = team.user(&root, "olga").await;
        let (first, second) = (team.program(&root).await, team.program(&olga).await);
        assert_eq!(team.get(&second, "/v1/models").await.status(), 200);
        let ids = rows!(team.app, (i64,), "SELECT id FROM api_keys ORDER BY id");
        let [of_root, of_olga] = [0, 1].map(|index: usize| ids[index].0.to_string());
        let (is_done, words) = said(&admin(&engine, &model, &["keys"]));
        let lines: Vec<&str> = words.lines().collect();
        assert!(is_done && lines.len() == 2, "{words}");
        let expected = [
            (lines[0], format!("{of_root}  root"), &first, "never used"),
            (lines[1], format!("{of_olga}  olga"), &second, "last used 20"),
        ];
        for (line, who, key, used) in expected {
            let key = key.key.as_ref().unwrap();
            assert!(line.starts_with(&who) && line.contains(used) && line.ends_with("a program"), "{line}");
            let shown = line.split_whitespace().nth(2).unwrap().trim_end_matches('…');
            assert!(key.starts_with(shown) && !line.contains(key), "{line}");
        }
        let (is_done, words) = said(&admin(&engine, &model, &["keys", "--revoke", &of_olga]));
        assert!(is_done, "{words}");
        assert_eq!(team.get(&second, "/v1/models").await.status(), 401);
        assert_eq!(team.get(&first, "/v1/models").await.status(), 200);
        let (is_done, words) = said(&admin(&engine, &model, &["keys", "--revoke", &of_olga]));
        assert!(!is_done && words.contains("This API key does not exist"), "{words}");
        let noted = rows!(
            team.app,
            (Option<i64>, String),
            "SELECT a.actor_id, u.name FROM audit_log a JOIN users u ON u.id = a.user_id WHERE a.action = 'key_revoked'"
        );
        assert_eq!(noted, [(None, "olga".to_owned())]);
    }
}

/// Monitoring systems read the metrics with an admin's API key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn metrics_require_an_admins_key() {
    let team = Team::start(&Engine::sqlite(), &MockLlm::start().await.unwrap()).await;
    let admin = team.sign_in(ADMIN).await;
    let (olga, _) = team.user(&admin, "olga").await;
    for (who, status) in [(Who::default(), 401), (team.program(&olga).await, 403), (team.program(&admin).await, 200)] {
        let answer = team.get(&who, "/metrics").await;
        assert_eq!(answer.status(), status);
        let text = answer.text().await.unwrap();
        assert_eq!(text.contains("tallybook_turns_started_total"), status == 200, "{text}");
    }
}
