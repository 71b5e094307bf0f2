//! A real client: OpenAI's official Python SDK (`program.py`).

use serde_json::json;
use tallybook_mock_llm::{MockLlm, cut, text, tool_call};

use super::super::{conversations, python};
use crate::support::{Engine, TestApp};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_python_sdk_uses_the_agent_as_a_model() {
    let model = MockLlm::start().await.unwrap();
    let app = TestApp::spawn(&Engine::sqlite(), &model).await;
    let sum = || tool_call("add", r#"{"a":0.1,"b":0.2}"#);
    model.reply([sum()]);
    model.reply([text("It is 0.3.")]);
    model.reply([sum()]);
    let silent = model.reply_gated([text("It ")], [text("is 0.3.")]);
    model.reply([sum(), tool_call("look", r#"{"city":"x"}"#)]);
    model.reply([tool_call("look", r#"{"city":"y"}"#)]);
    model.reply([text("Rain and snow.")]);
    model.fail(500, "");
    model.reply([text("It"), cut()]);
    let mut results = python::run("responses/program.py", &app, &silent).await;
    assert!(results["keep_alives"].take().as_u64().unwrap() > 0);
    let expected = json!({
        "whole": ["It is 0.3.", "completed", 64],
        "stream": "It is 0.3.",
        "keep_alives": null,
        "final": ["It is 0.3.", 64],
        "handed": ["function_call", "look", {"city": "x"}],
        "streamed_call": [["look", r#"{"city":"y"}"#]],
        "resumed": ["Rain and snow.", true],
        "retrieved": "Rain and snow.",
        "deleted": ["previous_response_not_found", "previous_response_id"],
        "unknown": [404, "model_not_found", "model"],
        "failed": [502, "model_failing"],
        "aborted": ["It", "failed", "model_bad_stream"],
    });
    assert_eq!(results, expected);
    // The SDK did not retry requests that were already stored.
    assert_eq!(conversations(&app).await.len(), 5);
    model.assert_calls_paired();
}
