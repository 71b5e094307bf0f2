//! Writes an answer as a stream of chunks in Tallybook's own format: `data:` lines, each with a JSON object that has a `type`.

use std::collections::HashMap;

use bytes::Bytes;
use serde::Serialize;
use tallybook_agent::STEP_LIMIT;
use tallybook_protocol::{MessageEnd, ToolCallEnd, ToolCallId, ToolCallStart, Usage};
use utoipa::ToSchema;

use super::{
    super::{
        refusal::Refusal,
        sink::{Sink, Writer},
        whole::UsageBody,
    },
    whole::{CallBody, Outcome},
};

/// One of them.
#[derive(Serialize, ToSchema)]
#[schema(as = StreamChunk)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Chunk<'a> {
    Delta {
        delta: &'a str,
    },
    ToolCall {
        tool_calls: [CallBody<'a>; 1],
    },
    ToolResult {
        tool_call_id: String,
        name: &'a str,
        #[serde(flatten)]
        outcome: Outcome<'a>,
    },
    Error {
        error: &'a str,
        code: &'a str,
    },
    Done {
        finish_reason: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        usage: Option<UsageBody>,
        thread_id: &'a str,
    },
}

/// Writer of the chunks of one answer.
pub(crate) struct StreamChunks {
    thread_id: String,
    out: Vec<u8>,
    /// Text that is not yet in a chunk.
    text: String,
    /// Names of the running calls.
    calls: HashMap<ToolCallId, String>,
    is_used_up: bool,
}

impl StreamChunks {
    pub(crate) fn new(thread_id: String) -> Self {
        let (out, text, calls) = (Vec::new(), String::new(), HashMap::new());
        Self { thread_id, out, text, calls, is_used_up: false }
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            write(&mut self.out, &Chunk::Delta { delta: &text });
        }
    }
}

/// Appends a chunk. Every chunk serializes, because it consists of strings, numbers, and JSON.
fn write(out: &mut Vec<u8>, chunk: &Chunk<'_>) {
    let data = serde_json::to_string(chunk).unwrap_or_else(|_| "null".to_owned());
    out.extend_from_slice(format!("data: {data}\n\n").as_bytes());
}

impl Sink for StreamChunks {
    fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn tool_started(&mut self, call: &ToolCallStart) {
        self.flush();
        self.calls.insert(call.tool_call_id, call.tool_name.clone());
        let (id, name) = (call.tool_call_id.to_string(), &*call.tool_name);
        let call = CallBody { id, name, parameters: &call.input, outcome: None };
        write(&mut self.out, &Chunk::ToolCall { tool_calls: [call] });
    }

    fn tool_ended(&mut self, call: &ToolCallEnd) {
        self.flush();
        let name = self.calls.remove(&call.tool_call_id).unwrap_or_default();
        let outcome = Outcome::of_end(call);
        let tool_call_id = call.tool_call_id.to_string();
        write(&mut self.out, &Chunk::ToolResult { tool_call_id, name: &name, outcome });
    }

    fn run_ended(&mut self, end: &MessageEnd) {
        self.is_used_up = end.stop_reason.as_deref() == Some(STEP_LIMIT);
    }

    fn is_ready(&self) -> bool {
        !self.out.is_empty() || !self.text.is_empty()
    }
}

impl Writer for StreamChunks {
    fn begin(&mut self) {
        let sign = self.sign_of_life();
        self.out.extend_from_slice(&sign);
    }

    /// An empty text, because every client of this API understands it.
    fn sign_of_life(&mut self) -> Bytes {
        let mut out = Vec::new();
        write(&mut out, &Chunk::Delta { delta: "" });
        out.into()
    }

    fn end(&mut self, finish_reason: &str, usage: Usage) {
        self.flush();
        if self.is_used_up {
            let error = "The agent used up the steps of one answer. Ask in the thread for the rest.";
            write(&mut self.out, &Chunk::Error { error, code: STEP_LIMIT });
        }
        let usage = Some(UsageBody::of(usage));
        write(&mut self.out, &Chunk::Done { finish_reason, usage, thread_id: &self.thread_id });
    }

    fn fail(&mut self, refusal: &Refusal) {
        self.flush();
        let code = refusal.code.as_deref().unwrap_or("error");
        write(&mut self.out, &Chunk::Error { error: &refusal.message, code });
        write(&mut self.out, &Chunk::Done { finish_reason: "error", usage: None, thread_id: &self.thread_id });
    }

    fn take(&mut self) -> Bytes {
        self.flush();
        std::mem::take(&mut self.out).into()
    }
}
