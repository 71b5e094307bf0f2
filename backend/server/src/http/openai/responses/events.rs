//! Writes an answer as a stream of numbered events
//! (<https://platform.openai.com/docs/api-reference/responses-streaming>). The stream contains only `event:` and
//! `data:` lines, because clients fail on other lines.

use bytes::Bytes;
use serde::Serialize;
use serde_json::json;
use tallybook_conversations::ClientCall;
use tallybook_protocol::Usage;
use utoipa::ToSchema;

use super::body::{Head, OutputItem, OutputText, ResponseBody, State};
use crate::http::openai::{
    error::Refusal,
    follow::{Sink, Writer},
};

/// Writer of the events of one answer.
pub(crate) struct Events {
    head: Head,
    message_id: String,
    out: Vec<u8>,
    /// Number of the next event.
    number: u64,
    /// Text that no event contains yet. Text that arrives together is sent together.
    text: String,
    /// Text that events already contain.
    sent_text: String,
    calls: Vec<ClientCall>,
    has_begun: bool,
    has_message: bool,
}

/// The data of an event.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only the API description uses it")]
pub(crate) struct ResponseEvent<'a> {
    /// Type of the event, as in the `event:` line, such as `response.created` or `response.output_text.delta`.
    #[schema(rename = "type")]
    kind: &'a str,
    sequence_number: u64,
    /// New text, or new arguments of a call.
    delta: Option<&'a str>,
    /// The response so far.
    response: Option<ResponseBody<'a>>,
    /// The item that starts or has ended.
    item: Option<OutputItem<'a>>,
}

#[derive(Serialize)]
struct Event<'a, T> {
    #[serde(rename = "type")]
    kind: &'a str,
    sequence_number: u64,
    #[serde(flatten)]
    fields: T,
}

/// Appends an event. All data of events serializes, because it consists of strings and numbers.
fn write<T: Serialize>(out: &mut Vec<u8>, number: &mut u64, kind: &str, fields: T) {
    let data = serde_json::to_string(&Event { kind, sequence_number: *number, fields });
    let data = data.unwrap_or_else(|_| "null".to_owned());
    out.extend_from_slice(format!("event: {kind}\ndata: {data}\n\n").as_bytes());
    *number += 1;
}

impl Events {
    pub(crate) fn new(head: Head) -> Self {
        let (out, text, sent_text, calls) = (Vec::new(), String::new(), String::new(), Vec::new());
        let message_id = head.message_id();
        Self { head, message_id, out, number: 0, text, sent_text, calls, has_begun: false, has_message: false }
    }

    fn event<T: Serialize>(&mut self, kind: &str, fields: T) {
        write(&mut self.out, &mut self.number, kind, fields);
    }

    /// Appends an event with the whole response so far.
    fn state(&mut self, kind: &str, state: State<'_>) {
        let Self { head, out, number, sent_text, calls, .. } = self;
        let is_empty =
            matches!(state, State::InProgress) || (sent_text.is_empty() && calls.is_empty() && !self.has_message);
        let output = if is_empty { Vec::new() } else { head.items(sent_text, calls, state.item_status()) };
        write(out, number, kind, json!({"response": head.body(state, output)}));
    }

    fn begin_message(&mut self) {
        self.begin();
        if self.has_message {
            return;
        }
        self.has_message = true;
        let id = self.message_id.clone();
        let item = OutputItem::message(id.clone(), None, "in_progress");
        self.event("response.output_item.added", json!({"output_index": 0, "item": item}));
        let part = json!({"item_id": id, "output_index": 0, "content_index": 0, "part": OutputText::new("")});
        self.event("response.content_part.added", part);
    }

    fn flush(&mut self) {
        if self.text.is_empty() {
            return;
        }
        self.begin_message();
        let Self { out, number, message_id, text, .. } = self;
        let delta =
            json!({"item_id": message_id, "output_index": 0, "content_index": 0, "delta": text, "logprobs": []});
        write(out, number, "response.output_text.delta", delta);
        self.sent_text.push_str(&self.text);
        self.text.clear();
    }

    fn end_message(&mut self, status: &'static str) {
        if !self.has_message {
            return;
        }
        let Self { out, number, message_id: id, sent_text, .. } = self;
        let done = json!({"item_id": id, "output_index": 0, "content_index": 0, "text": sent_text, "logprobs": []});
        write(out, number, "response.output_text.done", done);
        let part = json!({"item_id": id, "output_index": 0, "content_index": 0, "part": OutputText::new(sent_text)});
        write(out, number, "response.content_part.done", part);
        let item = OutputItem::message(id.clone(), Some(sent_text), status);
        write(out, number, "response.output_item.done", json!({"output_index": 0, "item": item}));
    }

    fn push_calls(&mut self) {
        let first = usize::from(self.has_message);
        let Self { head, out, number, calls, .. } = self;
        for (index, call) in calls.iter().enumerate() {
            let (index, id, arguments) = (first + index, format!("fc_{}", call.id), &call.arguments);
            let item = head.call(call, "", "in_progress");
            write(out, number, "response.output_item.added", json!({"output_index": index, "item": item}));
            let delta = json!({"item_id": id, "output_index": index, "delta": arguments});
            write(out, number, "response.function_call_arguments.delta", delta);
            let done = json!({"item_id": id, "output_index": index, "name": head.repeated.name_of(call).1, "arguments": arguments});
            write(out, number, "response.function_call_arguments.done", done);
            let item = head.call(call, arguments, "completed");
            write(out, number, "response.output_item.done", json!({"output_index": index, "item": item}));
        }
    }
}

impl Sink for Events {
    fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn client_calls(&mut self, calls: Vec<ClientCall>) {
        self.calls = calls;
    }

    fn is_ready(&self) -> bool {
        !self.out.is_empty() || !self.text.is_empty()
    }
}

impl Writer for Events {
    fn begin(&mut self) {
        if !self.has_begun {
            self.has_begun = true;
            self.state("response.created", State::InProgress);
            self.state("response.in_progress", State::InProgress);
        }
    }

    /// Sends an event instead of a comment: a comment would also keep the connection alive, but some clients wait for
    /// events.
    fn keep_alive(&mut self) -> Bytes {
        self.state("response.in_progress", State::InProgress);
        self.take()
    }

    fn end(&mut self, finish: &str, usage: Usage) {
        self.flush();
        if self.calls.is_empty() {
            self.begin_message();
        }
        self.begin();
        let state = State::Ended { finish, usage };
        self.end_message(state.item_status());
        self.push_calls();
        self.state(if state.status() == "completed" { "response.completed" } else { "response.incomplete" }, state);
    }

    fn fail(&mut self, refusal: &Refusal) {
        self.flush();
        self.begin();
        let state = State::failed(refusal);
        self.end_message(state.item_status());
        self.state("response.failed", state);
    }

    fn take(&mut self) -> Bytes {
        self.flush();
        std::mem::take(&mut self.out).into()
    }
}
