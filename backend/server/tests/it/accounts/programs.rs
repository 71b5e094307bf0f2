//! Programs with keys, which use the agent as a model: whose conversations they are.

use reqwest::Method;
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, text};

use super::kit::{ADMIN, Team, Who};
use crate::{
    operating::{admin, said},
    support::{Engine, on_every_engine, rows},
};

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

    async fn an_operator_lists_everybodys_keys_and_revokes_one(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let team = Team::start(&engine, &model).await;
        let root = team.sign_in(ADMIN).await;
        let (olga, _) = team.person(&root, "olga").await;
        let (first, second) = (team.program(&root).await, team.program(&olga).await);
        assert_eq!(team.get(&second, "/v1/models").await.status(), 200);
        let (is_done, words) = said(&admin(&engine, &model, &["keys"]));
        let lines: Vec<&str> = words.lines().collect();
        assert!(is_done && lines.len() == 2, "{words}");
        for (line, who, key, used) in [(lines[0], "1  root", &first, "never used"), (lines[1], "2  olga", &second, "last used 20")] {
            let key = key.key.as_ref().unwrap();
            assert!(line.starts_with(who) && line.contains(used) && line.ends_with("a program"), "{line}");
            let shown = line.split_whitespace().nth(2).unwrap().trim_end_matches('…');
            assert!(key.starts_with(shown) && !line.contains(key), "{line}");
        }
        let (is_done, words) = said(&admin(&engine, &model, &["keys", "--revoke", "2"]));
        assert!(is_done, "{words}");
        assert_eq!(team.get(&second, "/v1/models").await.status(), 401);
        assert_eq!(team.get(&first, "/v1/models").await.status(), 200);
        let (is_done, words) = said(&admin(&engine, &model, &["keys", "--revoke", "2"]));
        assert!(!is_done && words.contains("There is no such key"), "{words}");
        let noted = rows!(
            team.app,
            (Option<i64>, i64),
            "SELECT actor_id, user_id FROM audit_log WHERE action = 'key_revoked'"
        );
        assert_eq!(noted, [(None, 2)]);
    }
}
