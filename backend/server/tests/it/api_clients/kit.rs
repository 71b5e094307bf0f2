//! A client for OpenAI Chat Completions, with the features that the tests need.

use std::collections::VecDeque;

use reqwest::{Response, StatusCode, header::CONTENT_TYPE};
use serde_json::{Value, json};
use tallybook_tools::{Risk, Tool, ToolError, ToolOutput, ToolRegistry, builtin};
use tokio::time::{Instant, timeout, timeout_at};

use crate::support::{EVENT_TIMEOUT, NoArgs, TIMEOUT, TestApp, eventually};

/// A tool that changes something, so its calls need approval.
pub(crate) struct Orders;

impl Tool for Orders {
    type Args = NoArgs;
    const NAME: &'static str = "order";
    const DESCRIPTION: &'static str = "Orders a dish.";
    const RISK: Risk = Risk::High;

    async fn call(&self, _: NoArgs) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text("ordered"))
    }
}

/// The built-in tools.
pub(crate) fn tools() -> ToolRegistry {
    builtin().expect("the built-in tools are valid")
}

/// Returns a request with one question.
pub(crate) fn question(words: &str) -> Value {
    json!({"model": "test-model", "messages": [{"role": "user", "content": words}]})
}

/// Returns a request with one question that asks for a stream.
pub(crate) fn streamed(words: &str) -> Value {
    let mut body = question(words);
    body["stream"] = json!(true);
    body
}

/// Sends a request with these headers.
pub(crate) async fn ask(app: &TestApp, headers: &[(&str, &str)], body: &Value) -> Response {
    let mut request = app.client.post(app.url("/v1/chat/completions")).json(body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.expect("the server answers")
}

/// Returns the conversation that a response names.
pub(crate) fn conversation_of(response: &Response) -> String {
    response.headers()["x-tallybook-conversation"].to_str().expect("in ASCII").to_owned()
}

/// Returns the text of a response that is not streamed.
pub(crate) async fn words(response: Response) -> String {
    assert_eq!(response.status(), StatusCode::OK);
    let body: Value = response.json().await.expect("a JSON body");
    body["choices"][0]["message"]["content"].as_str().expect("words").to_owned()
}

/// Returns the error of a response. Fails unless the response has this status and OpenAI's error format.
pub(crate) async fn refusal(response: Response, status: u16) -> Value {
    let found = response.status();
    let text = response.text().await.expect("a text");
    assert_eq!(found.as_u16(), status, "{text}");
    let body: Value = serde_json::from_str(&text).expect("a JSON body");
    let error = &body["error"];
    assert!(error["message"].is_string() && error["type"].is_string(), "{body}");
    assert!(error.get("param").is_some() && error.get("code").is_some(), "{body}");
    error.clone()
}

/// Returns all conversations of the user.
pub(crate) async fn conversations(app: &TestApp) -> Vec<Value> {
    app.get_json("/api/conversations").await["items"].as_array().expect("a list").clone()
}

/// Waits until the first answer of a conversation has this status.
pub(crate) async fn ends_as(app: &TestApp, conversation: &str, status: &str) {
    let is_so = async || app.conversation(conversation).await["messages"][1]["status"] == status;
    eventually(status, is_so).await;
}

/// Reader of a streamed answer.
pub(crate) struct ChunkReader {
    response: Response,
    rest: Vec<u8>,
    ready: VecDeque<Value>,
    /// Number of keep-alives so far.
    pub(crate) signs: usize,
    pub(crate) text: String,
    is_done: bool,
}

impl ChunkReader {
    pub(crate) fn new(response: Response) -> Self {
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()[CONTENT_TYPE], "text/event-stream");
        assert_eq!(response.headers()["x-accel-buffering"], "no");
        let (rest, ready, text) = (Vec::new(), VecDeque::new(), String::new());
        Self { response, rest, ready, signs: 0, text, is_done: false }
    }

    /// Returns the next chunk that is not a keep-alive; `None` at the end. The stream must end with `[DONE]`.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let deadline = Instant::now() + EVENT_TIMEOUT;
        loop {
            if let Some(chunk) = self.ready.pop_front() {
                if chunk["choices"] == json!([{"index": 0, "delta": {}, "finish_reason": null}])
                    && chunk.get("tallybook").is_none()
                {
                    self.signs += 1;
                    continue;
                }
                self.text += chunk["choices"][0]["delta"]["content"].as_str().unwrap_or_default();
                return Some(chunk);
            }
            let bytes = timeout_at(deadline, self.response.chunk()).await.expect("a chunk within a minute");
            let Some(bytes) = bytes.expect("the stream ends without an error") else {
                assert!(self.is_done && self.rest.is_empty(), "{:?}", self.rest);
                return None;
            };
            self.rest.extend_from_slice(&bytes);
            while let Some(end) = self.rest.windows(2).position(|two| two == b"\n\n") {
                let line = String::from_utf8(self.rest.drain(..end + 2).collect()).expect("UTF-8");
                let data = line.trim_end().strip_prefix("data: ").unwrap_or_else(|| panic!("no data line: {line}"));
                assert!(!self.is_done && !data.contains('\n'), "{data}");
                match data {
                    "[DONE]" => self.is_done = true,
                    data => self.ready.push_back(serde_json::from_str(data).expect("JSON")),
                }
            }
        }
    }

    /// Reads until the answer contains this text.
    pub(crate) async fn until_text(&mut self, words: &str) {
        while !self.text.contains(words) {
            assert!(self.next().await.is_some(), "the stream ended at {:?}", self.text);
        }
    }

    /// Reads until this number of further keep-alives has arrived.
    pub(crate) async fn until_signs(&mut self, number: usize) {
        let until = self.signs + number;
        let wait = async {
            while self.signs < until {
                // Tests call this while a model or an approval is pending, so no other chunk arrives that would be lost
                // here.
                let _ = timeout(std::time::Duration::from_millis(20), self.next()).await;
            }
        };
        timeout(TIMEOUT, wait).await.expect("keep-alives");
    }

    /// Returns all chunks until the end.
    pub(crate) async fn all(&mut self) -> Vec<Value> {
        let mut chunks = Vec::new();
        while let Some(chunk) = self.next().await {
            chunks.push(chunk);
        }
        chunks
    }
}
