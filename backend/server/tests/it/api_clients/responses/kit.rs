//! A client for the OpenAI Responses API, with the features that the tests need.

use std::collections::VecDeque;

use reqwest::{
    Response,
    header::{CONTENT_TYPE, HeaderMap},
};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::support::{TIMEOUT, TestApp};

/// Returns a question, with these further fields.
pub(crate) fn asked(input: impl Into<Value>, fields: &Value) -> Value {
    let mut body = json!({"model": "test-model", "input": input.into()});
    for (name, value) in fields.as_object().unwrap() {
        body[name] = value.clone();
    }
    body
}

/// Returns the client's tools.
pub(crate) fn offered() -> Value {
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    json!([
        {"type": "function", "name": "look", "description": "Looks outside.", "parameters": parameters, "strict": true},
        {"type": "function", "name": "listen"},
        {"type": "web_search", "external_web_access": false},
        {"type": "namespace", "name": "more", "description": "More.", "tools": [
            {"type": "function", "name": "listen", "parameters": parameters}, {"type": "function", "name": "x".repeat(60)},
        ]},
    ])
}

/// Returns the result of a call.
pub(crate) fn output(id: &Value, words: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": words})
}

/// Sends a request with these headers.
pub(crate) async fn ask(app: &TestApp, headers: &[(&str, &str)], body: &Value) -> Response {
    let mut request = app.client.post(app.url("/v1/responses")).json(body);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.send().await.expect("the server answers")
}

/// Returns a complete response, and the conversation that it names.
pub(crate) async fn whole(app: &TestApp, body: &Value) -> (Value, String) {
    let response = ask(app, &[], body).await;
    let conversation = super::super::kit::conversation_of(&response);
    let (status, text) = (response.status(), response.text().await.unwrap());
    assert_eq!(status, 200, "{text}");
    (serde_json::from_str(&text).unwrap(), conversation)
}

/// Returns the text of a response.
pub(crate) fn words(answer: &Value) -> &str {
    assert_eq!(answer["output"][0]["type"], "message", "{answer}");
    answer["output"][0]["content"][0]["text"].as_str().expect("words")
}

/// Returns the ids of the calls with which a response ends.
pub(crate) fn call_ids(answer: &Value) -> Vec<Value> {
    let calls = answer["output"].as_array().unwrap().iter().filter(|item| item["type"] == "function_call");
    calls.map(|item| item["call_id"].clone()).collect()
}

/// Reader of a streamed response.
pub(crate) struct ResponseReader {
    response: Response,
    rest: Vec<u8>,
    ready: VecDeque<Value>,
    number: u64,
    pub(crate) text: String,
}

impl ResponseReader {
    pub(crate) fn new(response: Response) -> Self {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()[CONTENT_TYPE], "text/event-stream");
        Self { response, rest: Vec::new(), ready: VecDeque::new(), number: 0, text: String::new() }
    }

    pub(crate) fn headers(&self) -> &HeaderMap {
        self.response.headers()
    }

    /// Returns the next event; `None` at the end. Checks the event's number, and that both places of its name agree.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                assert_eq!(event["sequence_number"], self.number, "{event}");
                self.number += 1;
                if event["type"] == "response.output_text.delta" {
                    self.text += event["delta"].as_str().unwrap();
                }
                return Some(event);
            }
            let bytes = timeout(TIMEOUT, self.response.chunk()).await.expect("an event within 20 s");
            let Some(bytes) = bytes.expect("the stream ends without an error") else {
                assert!(self.rest.is_empty(), "{:?}", self.rest);
                return None;
            };
            self.rest.extend_from_slice(&bytes);
            while let Some(end) = self.rest.windows(2).position(|two| two == b"\n\n") {
                let frame = String::from_utf8(self.rest.drain(..end + 2).collect()).expect("UTF-8");
                let [name, data] = frame.trim_end().split('\n').collect::<Vec<_>>()[..] else { panic!("{frame}") };
                let event: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).expect("JSON");
                assert_eq!(name.strip_prefix("event: ").unwrap(), event["type"]);
                self.ready.push_back(event);
            }
        }
    }

    /// Reads until the answer contains this text.
    pub(crate) async fn until_text(&mut self, words: &str) {
        while !self.text.contains(words) {
            assert!(self.next().await.is_some(), "the stream ended at {:?}", self.text);
        }
    }

    /// Returns all events until the end.
    pub(crate) async fn all(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}
