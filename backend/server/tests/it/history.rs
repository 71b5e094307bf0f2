//! Earlier turns in the prompt: the newest ones that fit, complete, with their results as they were sent before.

use serde_json::json;
use tallybook_llm::ModelSettings;
use tallybook_mock_llm::{MockLlm, text, tool_call};
use tallybook_protocol::ChatEvent;
use tallybook_tools::{ToolRegistry, builtin};

use crate::support::{Engine, Provider, TestApp, Writes, execute, on_every_engine};

/// Returns the settings of a model that reads about 1000 tokens of history.
fn settings(model: &MockLlm) -> ModelSettings {
    ModelSettings { context_tokens: 1400, max_tokens: 100, ..Provider::Anthropic.settings(model.url()) }
}

/// Returns the complete body of the newest request to the model.
fn last_request(model: &MockLlm) -> String {
    model.requests().pop().unwrap().body_text
}

on_every_engine! {
    async fn the_prompt_contains_the_newest_turns_that_fit(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::builder(&engine)
            .with_model(settings(&model))
            .with_tools(ToolRegistry::default())
            .spawn()
            .await;
        let conversation = app.create_conversation().await;
        // More turns than one query reads.
        for number in 0..40 {
            model.reply([text(format!("Answer {number}. {}", "x".repeat(500)))]);
            app.send(&conversation, &format!("Question {number}? {}", "y".repeat(500))).await.all().await;
        }
        let prompt = last_request(&model);
        for number in [37, 38, 39] {
            assert!(prompt.contains(&format!("Question {number}?")), "{number}");
        }
        assert!(prompt.contains("Answer 38.") && !prompt.contains("Question 36?"), "{prompt}");

        // A question that needs all the space is sent without earlier turns.
        model.reply([text("Much.")]);
        app.send(&conversation, &"z".repeat(3001)).await.all().await;
        assert!(!last_request(&model).contains("Question 39?"));
    }

    /// A result does not change in later prompts, however many calls were made since.
    async fn a_result_is_the_same_in_every_prompt(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let settings = Provider::Anthropic.settings(model.url());
        let tools = builtin().unwrap().with(Writes).unwrap();
        let app = TestApp::builder(&engine).with_model(settings).with_tools(tools).spawn().await;
        let conversation = app.create_conversation().await;
        model.reply([tool_call("writes", json!({"bytes": 60_000}).to_string())]);
        model.reply([text("Read.")]);
        app.send(&conversation, "Read it.").await.all().await;
        model.reply(vec![tool_call("add", r#"{"a":1,"b":2}"#); 64]);
        model.reply([text("Added.")]);
        app.send(&conversation, "Add.").await.all().await;
        model.reply([text("Sure.")]);
        app.send(&conversation, "Sure?").await.all().await;
        assert!(last_request(&model).contains(&"x".repeat(60_000)));
        model.assert_calls_paired();
    }
}

/// Earlier answers are read only if they fit the prompt. Unreadable bytes prove it: SQLite stores any bytes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_do_not_fit_are_not_read() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::builder(&Engine::sqlite())
        .with_model(settings(&model))
        .with_tools(ToolRegistry::default())
        .spawn()
        .await;
    let conversation = app.create_conversation().await;
    model.reply([text("x".repeat(20_000))]);
    app.send(&conversation, "Much, please.").await.all().await;
    execute!(app, "UPDATE model_calls SET blocks = CAST(X'FF' AS TEXT) || blocks");
    model.reply([text("Sure.")]);
    let events = app.send(&conversation, "Sure?").await.all().await;
    assert!(matches!(events.last(), Some(ChatEvent::MessageEnd(_))), "{:?}", events.last());
    let prompt = last_request(&model);
    assert!(prompt.contains("Sure?") && !prompt.contains("Much, please."), "{prompt}");
}
