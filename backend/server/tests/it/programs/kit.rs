//! A program that speaks OpenAI Chat Completions, as far as the tests need one.

use std::collections::VecDeque;

use reqwest::{Response, StatusCode, header::CONTENT_TYPE};
use serde_json::{Value, json};
use tallybook_tools::{Risk, Tool, ToolError, ToolOutput, ToolRegistry, builtin};
use tokio::time::{Instant, timeout, timeout_at};

use crate::support::{EVENT_PATIENCE, NoArgs, PATIENCE, TestApp, eventually};

/// Changes the world.
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
    builtin().expect("the built-in tools are sound")
}

/// A question alone.
pub(crate) fn question(words: &str) -> Value {
    json!({"model": "test-model", "messages": [{"role": "user", "content": words}]})
}

/// The same, to be answered as a stream.
pub(crate) fn streamed(words: &str) -> Value {
    let mut body = question(words);
    body["stream"] = json!(true);
    body
}

/// Asks with these headers.
pub(crate) async fn ask(app: &TestApp, headers: &[(&str, &str)], body: &Value) -> Response {
    let mut request = app.client.post(app.url("/v1/chat/completions")).json(body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.expect("the server answers")
}

/// The conversation that an answer names.
pub(crate) fn conversation_of(response: &Response) -> String {
    response.headers()["x-tallybook-conversation"].to_str().expect("in ASCII").to_owned()
}

/// The words of an answer that is whole.
pub(crate) async fn words(response: Response) -> String {
    assert_eq!(response.status(), StatusCode::OK);
    let body: Value = response.json().await.expect("a JSON body");
    body["choices"][0]["message"]["content"].as_str().expect("words").to_owned()
}

/// The error of an answer that is none.
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

/// All conversations there are.
pub(crate) async fn conversations(app: &TestApp) -> Vec<Value> {
    app.get_json("/api/conversations").await["items"].as_array().expect("a list").clone()
}

/// Waits until the one answer of a conversation has this status.
pub(crate) async fn ends_as(app: &TestApp, conversation: &str, status: &str) {
    let is_so = async || app.conversation(conversation).await["messages"][1]["status"] == status;
    eventually(status, is_so).await;
}

/// An answer's stream.
pub(crate) struct ChunkReader {
    response: Response,
    rest: Vec<u8>,
    ready: VecDeque<Value>,
    /// How many signs of life came.
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

    /// The next chunk that says something; `None` at the end of a stream that says that it is done.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let deadline = Instant::now() + EVENT_PATIENCE;
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
            let Some(bytes) = bytes.expect("the stream ends well") else {
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

    /// Reads until the answer says this.
    pub(crate) async fn until_text(&mut self, words: &str) {
        while !self.text.contains(words) {
            assert!(self.next().await.is_some(), "the stream ended at {:?}", self.text);
        }
    }

    /// Reads until so many more signs of life have come, with nothing said between.
    pub(crate) async fn until_signs(&mut self, number: usize) {
        let until = self.signs + number;
        let wait = async {
            while self.signs < until {
                // Nothing is told at the same time, so that the next chunk is never had.
                let _ = timeout(std::time::Duration::from_millis(20), self.next()).await;
            }
        };
        timeout(PATIENCE, wait).await.expect("signs of life");
    }

    /// Everything until the end.
    pub(crate) async fn all(&mut self) -> Vec<Value> {
        let mut chunks = Vec::new();
        while let Some(chunk) = self.next().await {
            chunks.push(chunk);
        }
        chunks
    }
}
