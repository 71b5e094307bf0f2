//! A real client: OpenAI's official Python SDK (`program.py`).

use std::{path::Path, process::Stdio};

use serde_json::{Value, json};
use tallybook_mock_llm::{Gate, MockLlm, cut, text, tool_call};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    process::Command,
    time::timeout,
};

use super::conversations;
use crate::support::{Engine, TIMEOUT, TestApp};

/// Name of the environment variable with the path of a Python that has the packages of `requirements.txt`.
const PYTHON: &str = "TEST_PYTHON";

/// Returns the path of the Python for real clients.
pub(crate) fn program() -> String {
    let python = std::env::var(PYTHON).unwrap_or_default();
    let advice = "set TEST_PYTHON to a Python with api_clients/requirements.txt, or run `cargo xtask test`";
    assert!(!python.is_empty(), "{advice}");
    python
}

/// Runs a script and returns the JSON that it prints at its end. The model stays silent until the script reports the
/// silence.
pub(crate) async fn run(script: &str, app: &TestApp, silent: &Gate) -> Value {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/api_clients").join(script);
    let mut command = Command::new(program());
    command.arg(script).arg(app.url("/v1")).stdout(Stdio::piped()).kill_on_drop(true);
    let mut running = command.spawn().unwrap();
    let mut output = BufReader::new(running.stdout.take().unwrap());
    let mut said = String::new();
    // During the silence, the server sends keep-alives, which the SDK must accept.
    timeout(3 * TIMEOUT, output.read_line(&mut said)).await.expect("the script starts").unwrap();
    assert_eq!(said, "in silence\n");
    silent.open();
    said.clear();
    timeout(TIMEOUT, output.read_to_string(&mut said)).await.expect("the script ends").unwrap();
    assert!(running.wait().await.unwrap().success(), "{said}");
    serde_json::from_str(&said).unwrap()
}

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
    model.fail(500, "");
    model.reply([text("It"), cut()]);
    let mut results = run("program.py", &app, &silent).await;
    assert!(results["keep_alives"].take().as_u64().unwrap() > 0);
    let expected = json!({
        "models": ["test-model", "test-model:plain"],
        "whole": ["It is 0.3.", "stop", 64],
        "stream": "It is 0.3.",
        "keep_alives": null,
        "usage": 64,
        "handed": ["tool_calls", null, "look", {"city": "x"}],
        "streamed_call": "look",
        "arguments": r#"{"city":"y"}"#,
        "unknown": [404, "model_not_found", "model"],
        "failed": [502, "model_failing"],
        "late": "It",
        "aborted": "model_bad_stream",
    });
    assert_eq!(results, expected);
    // The SDK did not retry requests that were already stored.
    assert_eq!(conversations(&app).await.len(), 5);
    model.assert_calls_paired();
}
