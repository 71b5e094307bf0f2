//! Token usage by purpose: of a conversation and of an answer.

use std::time::Duration;

use serde_json::{Value, json};
use tallybook_conversations::models::{ModelChoice, ModelEntry};
use tallybook_mock_llm::{MockLlm, text, tool_call};

use crate::support::{Engine, TestApp, eventually, on_every_engine};

/// Returns the number of calls of each purpose, and the sum of the input tokens.
fn counted(usage: &Value) -> (Value, i64) {
    let rows = usage["items"].as_array().unwrap();
    let counts = rows.iter().map(|row| (row["purpose"].clone(), row["calls"].clone())).collect::<Vec<_>>();
    (json!(counts), rows.iter().map(|row| row["input_tokens"].as_i64().unwrap()).sum())
}

on_every_engine! {
    async fn the_demo_model_explains_an_answer_with_its_calls(engine: Engine) {
        let tools = tallybook_tools::builtin().unwrap();
        let demo = ModelEntry::from_environment(ModelChoice::Demo { pace: Duration::ZERO });
        let app = TestApp::builder(&engine).with_models(vec![demo]).with_tools(tools).spawn().await;
        let conversation = app.create_conversation().await;
        let path = format!("/api/conversations/{conversation}");
        app.send(&conversation, "What is (1 + 2) × (3 + 4)?").await.all().await;
        let id = app.conversation(&conversation).await["messages"][1]["id"].clone();
        let explained = app.post(&format!("{path}/messages/{id}/reasoning-summary"), json!({})).await;
        let explained: Value = explained.json().await.unwrap();
        assert_eq!(explained, json!({"lines": ["Called add 2 times.", "Called multiply."]}));
        let (counts, _) = counted(&app.get_json(&format!("{path}/usage")).await);
        assert_eq!(counts.as_array().map(Vec::len), Some(1), "no model was called: {counts}");
    }

    async fn auxiliary_calls_count_toward_their_conversation(engine: Engine) {
        let model = MockLlm::start().await.unwrap();
        let app = TestApp::builder(&engine).with_mock(&model).with_titles().spawn().await;
        let conversation = app.create_conversation().await;
        let path = format!("/api/conversations/{conversation}");
        assert_eq!(app.get_json(&format!("{path}/usage")).await, json!({"items": []}));
        model.reply([tool_call("add", r#"{"a":1,"b":2}"#)]);
        model.reply([text("Three.")]);
        model.reply([text("A sum")]);
        app.send(&conversation, "1 + 2?").await.all().await;
        let of_all = async || counted(&app.get_json(&format!("{path}/usage")).await);
        eventually("the title's call counts", async || of_all().await.0 == json!([["answer", 2], ["title", 1]])).await;

        let answer = app.conversation(&conversation).await["messages"][1].clone();
        let id = answer["id"].as_i64().unwrap();
        model.reply([text("I added the numbers.")]);
        let summed = app.post(&format!("{path}/messages/{id}/reasoning-summary"), json!({})).await;
        assert_eq!(summed.status(), 200);
        let (counts, tokens) = of_all().await;
        assert_eq!(counts, json!([["answer", 2], ["reasoning_summary", 1], ["title", 1]]));

        // The usage of an answer is the one that its message shows.
        let of_answer = app.get_json(&format!("{path}/messages/{id}/usage")).await;
        let (counts, tokens_of_answer) = counted(&of_answer);
        assert_eq!(counts, json!([["answer", 2]]));
        assert_eq!(answer["usage"]["input_tokens"], tokens_of_answer);
        assert_eq!(answer["usage"]["output_tokens"], of_answer["items"][0]["output_tokens"]);
        assert!(tokens_of_answer > 0 && tokens > tokens_of_answer, "{tokens} {tokens_of_answer}");
        let question = app.get_json(&format!("{path}/messages/{}/usage", id - 1)).await;
        assert_eq!(question, json!({"items": []}), "a question has no usage");

        // A regenerated answer counts toward the conversation, and is an answer of its own.
        model.reply([text("Three, again.")]);
        let again = app.post(&format!("{path}/messages/{id}/regenerate"), json!({})).await;
        again.text().await.unwrap();
        assert_eq!(of_all().await.0, json!([["answer", 3], ["reasoning_summary", 1], ["title", 1]]));

        // A message of another conversation is not found in this one.
        let other = app.create_conversation().await;
        for path in [format!("/api/conversations/{other}/messages/{id}/usage"), format!("{path}/messages/99/usage")] {
            let refused = app.get(&path).await;
            assert_eq!(refused.status(), 404, "{path}");
        }
        app.delete(&conversation).await;
        assert_eq!(app.get(&format!("{path}/usage")).await.status(), 404);
    }
}
