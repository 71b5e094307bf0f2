//! Added models on two servers that differ in their secret key or in their settings file, and tests of a model whose
//! key the other server has stored.

use reqwest::Method;
use serde_json::{Value, json};
use tallybook_mock_llm::{MockLlm, WRONG_KEY, text};

use super::{LIMIT, MODEL};
use crate::{
    added_models::{KEY, add, body, demo_only, key_of, offered, reason, request},
    bad_input::assert_problem,
    files::{entry, post},
    support::{Engine, EventReader, Provider, TestApp, within},
};

/// Asks a model, and returns the text of the events.
async fn ask(app: &TestApp, name: &str) -> String {
    let conversation = app.create_conversation().await;
    let answer = post(app, &conversation, json!({"content": "Who are you?", "model": name})).await;
    format!("{:?}", EventReader::new(answer).all().await)
}

/// Each server can use only the keys that were stored under its own secret key.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_with_different_secret_keys_share_the_models_without_keys() {
    for engine in Engine::every_mysql_with_tables().await {
        let model = MockLlm::start().await.unwrap();
        let here = demo_only(&engine).spawn().await;
        let other_key = Some("another secret key of 32 characters".into());
        let there = demo_only(&engine).with_settings(|settings| settings.secret_key = other_key).spawn().await;
        add(&here, body("Added", &model)).await;
        add(&here, json!({"name": "Keyless", "provider": "openai", "base_url": model.url()})).await;
        let (all, usable) = (["demo", "Added*", "Keyless"], ["demo", "Keyless*"]);
        within(LIMIT, "the models arrive", async || offered(&there).await == usable).await;
        assert_eq!(offered(&here).await, all);
        let problem = async |app: &TestApp| app.get_json(MODEL).await["problem"].as_str().map(str::to_owned);
        assert!(problem(&there).await.unwrap().contains("SECRET_KEY"));
        assert_eq!(problem(&here).await, None);
        let tested = request(&there, Method::POST, &format!("{MODEL}/test"), json!({})).await;
        assert!(!tested.text().await.unwrap().contains(KEY));
        assert!(model.requests().is_empty(), "no request without the key");

        // A key that is entered there replaces the key of here.
        assert_eq!(request(&there, Method::PATCH, MODEL, json!({"api_key": KEY})).await.status(), 200);
        assert_eq!(offered(&there).await, all);
        within(LIMIT, "the key is lost", async || offered(&here).await == usable).await;
        assert!(problem(&here).await.unwrap().contains("SECRET_KEY"));
        model.reply([text("By the new key.")]);
        assert!(ask(&there, "Added").await.contains("By the new key."));
        assert_eq!(key_of(&model.requests().pop().unwrap()), KEY);
        for app in [&here, &there] {
            model.reply([text("Without a key.")]);
            assert!(ask(app, "Keyless").await.contains("Without a key."));
        }
    }
}

/// As during a deployment of a new settings file.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_in_the_file_of_one_server_has_precedence_on_that_server_only() {
    for engine in Engine::every_mysql_with_tables().await {
        let (of_page, of_file) = (MockLlm::start().await.unwrap(), MockLlm::start().await.unwrap());
        let here = demo_only(&engine).spawn().await;
        let in_file = entry("Added", Provider::Anthropic.settings(of_file.url()), false);
        let there = TestApp::builder(&engine).with_models(vec![in_file]).spawn().await;
        add(&here, body("Added", &of_page)).await;
        let hidden = async || there.get_json("/api/admin/models").await["items"][1]["problem"].to_string();
        within(LIMIT, "the model is noticed", async || hidden().await.contains("same name")).await;
        assert_eq!(offered(&here).await, ["demo", "Added*"]);
        assert_eq!(offered(&there).await, ["Added*"]);
        for (app, model) in [(&here, &of_page), (&there, &of_file)] {
            model.reply([text("It is me.")]);
            assert!(ask(app, "Added").await.contains("It is me."));
        }
        assert_eq!((of_page.requests().len(), of_file.requests().len()), (1, 1));

        let change = |app| request(app, Method::PATCH, MODEL, json!({"temperature": 0.5}));
        assert_problem(change(&there).await, 409, "set-in-file").await;
        assert_eq!(change(&here).await.status(), 200);
        // The server with the file can remove the added model, which it does not use.
        assert_eq!(request(&there, Method::DELETE, MODEL, json!({})).await.status(), 204);
        within(LIMIT, "the model is gone", async || offered(&here).await == ["demo*"]).await;
        assert_eq!(offered(&there).await, ["Added*"]);
    }
}

/// The stored key is read from the database, so nothing has to arrive first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_key_that_one_server_stored_tests_and_lists_models_on_the_other() {
    for engine in Engine::every_mysql_with_tables().await {
        let model = MockLlm::start().await.unwrap();
        let (here, there) = (demo_only(&engine).spawn().await, demo_only(&engine).spawn().await);
        add(&here, body("Added", &model)).await;
        let test = async |app: &TestApp, key: &str| {
            let before = model.requests().len();
            model.reply([text("ready")]);
            let tested = request(app, Method::POST, &format!("{MODEL}/test"), json!({})).await;
            let tested: Value = tested.json().await.unwrap();
            assert_eq!(tested["ok"], true, "{tested}");
            assert_eq!(key_of(&model.requests()[before]), key);
        };
        let discover = |app| {
            let asked = json!({"provider": "openai", "base_url": format!("{}/v1", model.url()), "name": "Added"});
            request(app, Method::POST, "/api/admin/models/discover", asked)
        };
        test(&there, KEY).await;
        model.offer(json!({"data": [{"id": "one"}]}));
        let listed: Value = discover(&there).await.json().await.unwrap();
        assert_eq!(listed["items"][0]["model"], "one", "{listed}");

        let enter = |key: &str| request(&there, Method::PATCH, MODEL, json!({"api_key": key}));
        assert_eq!(enter("sk-another-key").await.status(), 200);
        test(&here, "sk-another-key").await;
        assert_eq!(enter(WRONG_KEY).await.status(), 200);
        let detail = reason(discover(&here).await, 502, "model-unreachable").await;
        assert!(detail.contains("rejected the API key"), "{detail}");
    }
}
