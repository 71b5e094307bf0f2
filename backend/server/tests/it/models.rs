//! Several models: which one answers, what the feed reports, and conversations whose model was removed.

use reqwest::Response;
use serde_json::{Value, json};
use tallybook_conversations::models::{ModelChoice, ModelEntry, Origin};
use tallybook_llm::ModelSettings;
use tallybook_mock_llm::{MockLlm, Reply, text, thinking, tool_call, tool_call_with_id};
use tallybook_protocol::{ChatEvent, FeedKind, Prices};
use tallybook_tools::builtin;

use crate::{
    bad_input::assert_problem,
    support::{Engine, EventReader, FeedReader, Provider, TestApp, end_of, on_every_engine, rows},
};

/// Returns a model of the catalog. Its provider's name for it is `test-model`.
fn entry(name: &str, provider: Provider, model: &MockLlm) -> ModelEntry {
    let choice = ModelChoice::Provider(provider.settings(model.url()));
    ModelEntry { name: name.to_owned(), choice, prices: None, vision: false, origin: Origin::Environment }
}

/// Returns the same model with another name at its provider.
fn named(entry: ModelEntry, model: &str) -> ModelEntry {
    let ModelChoice::Provider(settings) = entry.choice else { panic!("the demo model") };
    let settings = ModelSettings { model: Some(model.to_owned()), ..settings };
    ModelEntry { choice: ModelChoice::Provider(settings), ..entry }
}

/// A server with the models Sonnet (the default) and Local.
struct Fixture {
    sonnet: MockLlm,
    local: MockLlm,
    app: TestApp,
}

impl Fixture {
    async fn set_up(engine: &Engine) -> Self {
        let (sonnet, local) = (MockLlm::start().await.unwrap(), MockLlm::start().await.unwrap());
        let models = vec![entry("Sonnet", Provider::Anthropic, &sonnet), entry("Local", Provider::OpenAi, &local)];
        let app = TestApp::builder(engine).with_models(models).with_tools(builtin().unwrap()).spawn().await;
        Self { sonnet, local, app }
    }

    /// Returns the number of requests that each model has received.
    fn asked(&self) -> (usize, usize) {
        (self.sonnet.requests().len(), self.local.requests().len())
    }
}

async fn patch(app: &TestApp, conversation: &str, body: Value) -> Response {
    app.client.patch(app.url(&format!("/api/conversations/{conversation}"))).json(&body).send().await.unwrap()
}

async fn send(app: &TestApp, conversation: &str, body: Value) -> Vec<ChatEvent> {
    let response = app.post(&format!("/api/conversations/{conversation}/messages"), body).await;
    EventReader::new(response).all().await
}

async fn regenerate(app: &TestApp, conversation: &str, message: &Value, body: Value) -> Response {
    app.post(&format!("/api/conversations/{conversation}/messages/{message}/regenerate"), body).await
}

/// Returns the models and providers of the answers that are shown.
fn writers(conversation: &Value) -> Vec<(String, String)> {
    let answers = conversation["messages"].as_array().unwrap().iter().filter(|message| message["role"] == "assistant");
    let word = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    answers.map(|answer| (word(&answer["model"]), word(&answer["provider"]))).collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(model, provider)| ((*model).to_owned(), (*provider).to_owned())).collect()
}

on_every_engine! {
    async fn a_message_may_choose_another_model_than_its_conversation(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        let Fixture { sonnet, local, app } = &fixture;
        let made = app.post("/api/conversations", json!({"model": "Local"})).await.json::<Value>().await.unwrap();
        assert_eq!(made["model"], "Local");
        let uuid = made["uuid"].as_str().unwrap().to_owned();

        local.reply([text("By Local.")]);
        let events = send(app, &uuid, json!({"content": "One?"})).await;
        let Some(ChatEvent::MessageStart(start)) = events.first() else { panic!("{events:?}") };
        assert_eq!(start.model.as_deref(), Some("Local"));
        // This choice is for one message only.
        sonnet.reply([text("By Sonnet.")]);
        send(app, &uuid, json!({"content": "Two?", "model": "Sonnet"})).await;
        local.reply([text("By Local again.")]);
        send(app, &uuid, json!({"content": "Three?"})).await;
        let conversation = app.conversation(&uuid).await;
        assert_eq!(conversation["model"], "Local");
        let expected = pairs(&[("Local", "openai"), ("Sonnet", "anthropic"), ("Local", "openai")]);
        assert_eq!(writers(&conversation), expected);

        // From here on, the conversation has the default model again.
        let changed: Value = patch(app, &uuid, json!({"model": null})).await.json().await.unwrap();
        assert_eq!(changed.get("model"), None);
        sonnet.reply([text("By the default.")]);
        send(app, &uuid, json!({"content": "Four?"})).await;
        assert_eq!(writers(&app.conversation(&uuid).await)[3], ("Sonnet".to_owned(), "anthropic".to_owned()));
        assert_eq!(fixture.asked(), (2, 2));
        // Each model receives what the other one wrote.
        let prompt = sonnet.requests().pop().unwrap().body_text;
        assert!(["By Local.", "By Sonnet.", "By Local again."].iter().all(|words| prompt.contains(words)), "{prompt}");
        let calls = rows!(app, (String, String), "SELECT provider, model FROM model_calls ORDER BY message_id LIMIT 1");
        assert_eq!(calls, [("openai".to_owned(), "test-model".to_owned())], "the provider's name is kept with the call");
        // Changing the title does not change the model.
        patch(app, &uuid, json!({"model": "Local"})).await;
        let renamed: Value = patch(app, &uuid, json!({"title": "Models"})).await.json().await.unwrap();
        assert_eq!((&renamed["model"], &renamed["title"]), (&json!("Local"), &json!("Models")));
    }

    async fn call_ids_are_sent_back_only_to_the_model_that_wrote_them(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        let Fixture { sonnet, local, app } = &fixture;
        let uuid = app.create_conversation().await;
        local.reply([tool_call_with_id("functions.add:0", "add", r#"{"a":1,"b":2}"#)]);
        local.reply([text("3.")]);
        send(app, &uuid, json!({"content": "1 + 2?", "model": "Local"})).await;
        sonnet.reply([text("Yes.")]);
        send(app, &uuid, json!({"content": "Sure?", "model": "Sonnet"})).await;
        local.reply([text("4.")]);
        send(app, &uuid, json!({"content": "And one more?", "model": "Local"})).await;

        let sent = |message: &Value| (message["tool_calls"][0]["id"].clone(), message["tool_call_id"].clone());
        for request in &local.requests()[1..] {
            let messages = request.body["messages"].as_array().unwrap();
            let step = messages.iter().position(|message| message["tool_calls"].is_array()).unwrap();
            assert_eq!(sent(&messages[step]).0, "functions.add:0");
            assert_eq!(sent(&messages[step + 1]).1, "functions.add:0");
        }
        let messages = &sonnet.requests()[0].body["messages"];
        let id = messages[1]["content"][0]["id"].as_str().unwrap();
        assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
        assert_eq!(messages[2]["content"][0]["tool_use_id"], id);
        for model in [sonnet, local] {
            model.assert_calls_paired();
        }
    }

    async fn unsupported_request_fields_are_omitted_later_and_listed_as_quirks(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        let Fixture { local, app, .. } = &fixture;
        let uuid = app.create_conversation().await;
        local.fail(400, r#"{"detail":[{"loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}"#);
        local.fail(400, r#"{"message":"System role not supported"}"#);
        local.reply([text("Yes.")]);
        let events = send(app, &uuid, json!({"content": "Well?", "model": "Local"})).await;
        assert_eq!(end_of(&events).content, "Yes.");
        let models = app.get_json("/api/models").await;
        assert_eq!(models["items"][0].get("quirks"), None);
        assert_eq!(models["items"][1]["quirks"], json!(["no_stream_options", "no_system_message"]));
        local.reply([text("Yes.")]);
        send(app, &uuid, json!({"content": "Sure?", "model": "Local"})).await;
        assert_eq!(local.requests().len(), 4);
    }

    async fn another_model_can_regenerate_an_answer(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        let Fixture { sonnet, local, app } = &fixture;
        let uuid = app.create_conversation().await;
        sonnet.reply([text("By Sonnet.")]);
        send(app, &uuid, json!({"content": "Well?"})).await;
        let answer = app.conversation(&uuid).await["messages"][1]["id"].clone();
        local.reply([text("By Local.")]);
        EventReader::new(regenerate(app, &uuid, &answer, json!({"model": "Local"})).await).all().await;
        let shown = app.conversation(&uuid).await;
        assert_eq!((writers(&shown), shown["messages"][1]["siblings"].as_array().unwrap().len()), (pairs(&[("Local", "openai")]), 2));
        assert_eq!(shown.get("model"), None, "the conversation's model has not changed");
        // Without a body, the conversation's own model answers.
        sonnet.reply([text("By Sonnet again.")]);
        let path = app.url(&format!("/api/conversations/{uuid}/messages/{answer}/regenerate"));
        EventReader::new(app.client.post(path).send().await.unwrap()).all().await;
        assert_eq!(writers(&app.conversation(&uuid).await), pairs(&[("Sonnet", "anthropic")]));
        let refused = regenerate(app, &uuid, &answer, json!({"model": 7})).await;
        assert_problem(refused, 400, "bad-body").await;
    }

    async fn an_unknown_model_is_refused_with_the_known_ones(engine: Engine) {
        let fixture = Fixture::set_up(&engine).await;
        let Fixture { sonnet, app, .. } = &fixture;
        let uuid = app.create_conversation().await;
        sonnet.reply([text("Yes.")]);
        send(app, &uuid, json!({"content": "Well?"})).await;
        let answer = app.conversation(&uuid).await["messages"][1]["id"].clone();
        let words = "No model is named \"GPT\". The models are: Sonnet, Local.";
        let asked = json!({"content": "Again?", "model": "GPT"});
        for refused in [
            app.post("/api/conversations", json!({"model": "GPT"})).await,
            patch(app, &uuid, json!({"model": "GPT"})).await,
            app.post(&format!("/api/conversations/{uuid}/messages"), asked).await,
            regenerate(app, &uuid, &answer, json!({"model": "GPT"})).await,
        ] {
            assert_eq!(assert_problem(refused, 422, "unknown-model").await["detail"], words);
        }
        assert_eq!(fixture.asked(), (1, 0));
        assert_eq!(app.conversation(&uuid).await["messages"].as_array().unwrap().len(), 2, "nothing was stored");
    }

    /// The model is removed by a restart with other settings.
    async fn a_conversation_whose_model_was_removed_can_use_another(engine: Engine) {
        let Fixture { sonnet, local, app } = Fixture::set_up(&engine).await;
        let uuid = app.create_conversation().await;
        patch(&app, &uuid, json!({"model": "Local"})).await;
        local.reply([text("By Local.")]);
        send(&app, &uuid, json!({"content": "Well?"})).await;
        local.reply(Reply::fail(400, "no"));
        send(&app, &uuid, json!({"content": "And?"})).await;
        app.shut_down().await;

        let models = vec![entry("Sonnet", Provider::Anthropic, &sonnet)];
        let app = TestApp::builder(&engine).with_models(models).with_tools(builtin().unwrap()).spawn().await;
        let opened = app.conversation(&uuid).await;
        assert_eq!((&opened["model"], &opened["messages"][1]["content"]), (&json!("Local"), &json!("By Local.")));
        let answer = &opened["messages"][1]["id"];
        let words = "The model \"Local\", which this conversation used, is no longer offered. Choose another one: Sonnet.";
        for refused in [
            app.post(&format!("/api/conversations/{uuid}/messages"), json!({"content": "Well?"})).await,
            regenerate(&app, &uuid, answer, json!({})).await,
            app.post(&format!("/api/conversations/{uuid}/continue"), json!({})).await,
        ] {
            assert_eq!(assert_problem(refused, 422, "model-gone").await["detail"], words);
        }
        // Another model resumes the removed model's answer: first for this request only, then as the conversation's
        // model.
        sonnet.reply([text("By Sonnet.")]);
        let going_on = app.post(&format!("/api/conversations/{uuid}/continue"), json!({"model": "Sonnet"})).await;
        assert_eq!(end_of(&EventReader::new(going_on).all().await).content, "By Sonnet.");
        patch(&app, &uuid, json!({"model": "Sonnet"})).await;
        sonnet.reply([text("By Sonnet again.")]);
        send(&app, &uuid, json!({"content": "More?"})).await;
        let expected = pairs(&[("Local", "openai"), ("Sonnet", "anthropic"), ("Sonnet", "anthropic")]);
        assert_eq!(writers(&app.conversation(&uuid).await), expected);
    }

    /// Reasoning belongs to the model that wrote it, not to every model of its provider.
    async fn another_model_resumes_a_turn_without_its_reasoning(engine: Engine) {
        let (first, second) = (MockLlm::start().await.unwrap(), MockLlm::start().await.unwrap());
        let models = vec![
            named(entry("First", Provider::Anthropic, &first), "m-1"),
            named(entry("Second", Provider::Anthropic, &second), "m-2"),
        ];
        let app = TestApp::builder(&engine).with_models(models).with_tools(builtin().unwrap()).spawn().await;
        let uuid = app.create_conversation().await;
        first.reply([thinking("Let me think.", "c2ln"), tool_call("add", r#"{"a":1,"b":2}"#)]);
        first.reply(Reply::fail(400, "no"));
        send(&app, &uuid, json!({"content": "1 + 2?"})).await;
        // The same model receives its reasoning again.
        first.reply(Reply::fail(400, "no"));
        app.continue_turn(&uuid).await.all().await;
        assert!(first.requests().last().unwrap().body_text.contains("Let me think."));
        // Another model receives the call and its result, but not the reasoning.
        second.reply([text("3.")]);
        let path = format!("/api/conversations/{uuid}/continue");
        EventReader::new(app.post(&path, json!({"model": "Second"})).await).all().await;
        let prompt = second.requests().pop().unwrap().body_text;
        assert!(!prompt.contains("Let me think.") && !prompt.contains("c2ln"), "{prompt}");
        assert!(prompt.contains("tool_use") && prompt.contains("tool_result"), "{prompt}");
        second.assert_calls_paired();
        assert_eq!(writers(&app.conversation(&uuid).await), pairs(&[("Second", "anthropic")]));
    }

    async fn costs_are_reported_for_models_with_prices(engine: Engine) {
        let (dear, free) = (MockLlm::start().await.unwrap(), MockLlm::start().await.unwrap());
        let prices = Some(Prices { input: 3.0, output: 15.0 });
        let models = vec![
            ModelEntry { prices, ..entry("Dear", Provider::Anthropic, &dear) },
            entry("Free", Provider::OpenAi, &free),
        ];
        let app = TestApp::builder(&engine).with_models(models).with_tools(builtin().unwrap()).spawn().await;
        let uuid = app.create_conversation().await;
        dear.reply([tool_call("add", r#"{"a":1,"b":2}"#)]);
        dear.reply([text("3.")]);
        let events = send(&app, &uuid, json!({"content": "1 + 2?"})).await;
        let usage = end_of(&events).usage;
        assert!(usage.input_tokens > 0 && usage.output_tokens > 0, "{usage:?}");
        let cost = usage.input_tokens * 3000 + usage.output_tokens * 15_000;
        assert_eq!(usage.cost_nanos, Some(cost));
        free.reply([text("Nothing.")]);
        send(&app, &uuid, json!({"content": "What is that?", "model": "Free"})).await;
        let conversation = app.conversation(&uuid).await;
        assert_eq!(conversation["messages"][1]["usage"]["cost_nanos"], cost);
        assert_eq!(conversation["messages"][3]["usage"].get("cost_nanos"), None, "the cost is unknown");
        let newest = app.get_json(&format!("/api/conversations/{uuid}?limit=2")).await;
        assert_eq!(newest["earlier"]["usage"]["cost_nanos"], cost);
    }

    async fn the_feed_reports_another_model(engine: Engine) {
        let Fixture { app, .. } = Fixture::set_up(&engine).await;
        let uuid = app.create_conversation().await;
        let mut feed = FeedReader::open(&app).await;
        for (model, published) in [(json!("Local"), Some("Local")), (json!(null), None)] {
            patch(&app, &uuid, json!({"model": model})).await;
            let event = feed.next().await;
            assert_eq!((event.kind, event.model.as_deref()), (FeedKind::ConversationUpdated, published));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_catalog_lists_its_models() {
    let model = MockLlm::start().await.unwrap();
    let prices = Some(Prices { input: 0.25, output: 2.0 });
    let local = entry("Local", Provider::OpenAi, &model);
    let ModelChoice::Provider(settings) = local.choice else { panic!("the demo model") };
    let settings = ModelSettings { tool_mode: tallybook_llm::ToolMode::Prompt, ..settings };
    let models = vec![
        ModelEntry { prices, vision: true, ..named(entry("Sonnet", Provider::Anthropic, &model), "claude") },
        ModelEntry { choice: ModelChoice::Provider(settings), ..entry("Local", Provider::OpenAi, &model) },
    ];
    let app = TestApp::builder(&Engine::sqlite()).with_models(models).with_tools(builtin().unwrap()).spawn().await;
    let expected = json!({"items": [
        {"name": "Sonnet", "provider": "anthropic", "model": "claude", "tool_mode": "native", "is_default": true,
         "vision": true, "prices": {"input": 0.25, "output": 2.0}, "available": true},
        {"name": "Local", "provider": "openai", "model": "test-model", "tool_mode": "prompt", "is_default": false,
         "vision": false, "available": true},
    ]});
    assert_eq!(app.get_json("/api/models").await, expected);
    let metrics = app.get("/metrics").await.text().await.unwrap();
    assert!(metrics.contains(r#"provider="anthropic",model="Sonnet""#), "{metrics}");
}
