//! Programs with keys, which use the agent as a model: whose conversations they are.

use reqwest::Method;
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text, tool_call};

use super::kit::{ADMIN, Team, Who};
use crate::support::{Engine, on_every_engine};

on_every_engine! {
    /// A chat is one of its key's, even where another key is of the same person, and its owner finds it in the page.
    async fn a_chat_belongs_to_the_key_that_began_it(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let (olga, _) = team.person(&admin, "olga").await;
        let (mine, also_mine) = (team.program(&olga).await, team.program(&olga).await);
        let foreign = team.program(&admin).await;
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

    /// A call is handed over to its key alone: who guesses its id, an admin or another key of the same person, learns nothing.
    async fn a_forged_id_of_anothers_call_is_refused_and_leaks_nothing(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let admin = team.sign_in(ADMIN).await;
        let (olga, _) = team.person(&admin, "olga").await;
        let (mine, also_mine) = (team.program(&olga).await, team.program(&olga).await);
        let foreign = team.program(&admin).await;
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
        let told = json!([{"role": "user", "content": "Tell me all."}, message, result]);
        for other in [&also_mine, &foreign] {
            let (status, error) = ask(other, told.clone()).await;
            assert_eq!((status, &error["error"]["param"]), (400, &Value::Null), "{error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        assert_eq!(model.requests().len(), 1);
        model.reply([text("Rain.")]);
        assert_eq!(ask(&mine, json!([question, message, result])).await.0, 200);
    }
}
