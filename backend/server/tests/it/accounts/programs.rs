//! Programs with keys, which use the agent as a model: whose conversations they are.

use reqwest::Method;
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text};

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
}

/// What monitors the server shows an admin's key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn figures_take_an_admins_key() {
    let team = Team::start(&Engine::sqlite(), &MockLlm::start().await.unwrap()).await;
    let admin = team.sign_in(ADMIN).await;
    let (olga, _) = team.person(&admin, "olga").await;
    for (who, status) in [(Who::default(), 401), (team.program(&olga).await, 403), (team.program(&admin).await, 200)] {
        let answer = team.get(&who, "/metrics").await;
        assert_eq!(answer.status(), status);
        let text = answer.text().await.unwrap();
        assert_eq!(text.contains("tallybook_turns_started_total"), status == 200, "{text}");
    }
}
