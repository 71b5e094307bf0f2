//! Writes an answer in Tallybook's own format: as a stream of chunks (`data:` lines, each with a JSON object that has a
//! `type`), or as one response with its tool calls.

use std::collections::HashMap;

use bytes::Bytes;
use serde::Serialize;
use tallybook_agent::STEP_LIMIT;
use tallybook_protocol::{
    MessageEnd, RawJson, ToolCall, ToolCallEnd, ToolCallId, ToolCallStart, ToolCallStatus, Usage,
};
use utoipa::ToSchema;

use crate::http::openai::{
    chunk::UsageBody,
    error::Refusal,
    follow::{Sink, Writer},
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
    reached_step_limit: bool,
}

impl StreamChunks {
    pub(crate) fn new(thread_id: String) -> Self {
        let (out, text, calls) = (Vec::new(), String::new(), HashMap::new());
        Self { thread_id, out, text, calls, reached_step_limit: false }
    }

    fn flush(&mut self) {
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            write(&mut self.out, &Chunk::Delta { delta: &text });
        }
    }
}

/// Appends a chunk. Serialization cannot fail, because chunks consist of strings, numbers, and JSON.
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
        self.reached_step_limit = end.stop_reason.as_deref() == Some(STEP_LIMIT);
    }

    fn is_ready(&self) -> bool {
        !self.out.is_empty() || !self.text.is_empty()
    }
}

impl Writer for StreamChunks {
    fn begin(&mut self) {
        let sign = self.keep_alive();
        self.out.extend_from_slice(&sign);
    }

    /// Sends an empty text, because every client of this API accepts it.
    fn keep_alive(&mut self) -> Bytes {
        let mut out = Vec::new();
        write(&mut out, &Chunk::Delta { delta: "" });
        out.into()
    }

    fn end(&mut self, finish_reason: &str, usage: Usage) {
        self.flush();
        if self.reached_step_limit {
            let error = "The answer reached its step limit. Send another message in the thread to continue.";
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

/// Receiver of an answer that is sent as one response.
#[derive(Default)]
pub(crate) struct WholeThread {
    pub(crate) text: String,
    pub(crate) stop_reason: Option<String>,
    tool_calls: Vec<ToolCall>,
}

impl WholeThread {
    /// Returns the tool calls of the answer.
    pub(crate) fn calls(&self) -> Vec<CallBody<'_>> {
        self.tool_calls.iter().map(CallBody::of).collect()
    }
}

impl Sink for WholeThread {
    fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn text_taken_back(&mut self, bytes: usize) {
        self.text.truncate(self.text.len().saturating_sub(bytes));
    }

    fn run_ended(&mut self, end: &MessageEnd) {
        self.tool_calls.clone_from(&end.tool_calls);
        self.stop_reason.clone_from(&end.stop_reason);
    }

    fn is_ready(&self) -> bool {
        false
    }
}

/// A call of one of our tools.
#[derive(Serialize, ToSchema)]
#[schema(as = ThreadToolCall)]
pub(crate) struct CallBody<'a> {
    pub(crate) id: String,
    pub(crate) name: &'a str,
    pub(crate) parameters: &'a RawJson,
    #[serde(flatten)]
    pub(crate) outcome: Option<Outcome<'a>>,
}

/// Result of a tool call.
#[derive(Serialize, ToSchema)]
#[schema(as = ToolOutcome)]
pub(crate) struct Outcome<'a> {
    status: ToolCallStatus,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    /// Type of the error, such as `timeout` or `denied`.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_type: Option<&'a str>,
}

impl<'a> Outcome<'a> {
    fn of_end(end: &'a ToolCallEnd) -> Self {
        let ToolCallEnd { status, output, error, error_type, .. } = end;
        Self::new(*status, output.as_deref(), error.as_deref(), error_type.as_deref())
    }

    fn new(
        status: ToolCallStatus,
        result: Option<&'a str>,
        error: Option<&'a str>,
        error_type: Option<&'a str>,
    ) -> Self {
        Self { status, success: status == ToolCallStatus::Success, result, error, error_type }
    }
}

impl<'a> CallBody<'a> {
    fn of(call: &'a ToolCall) -> Self {
        let ToolCall { status, output, error, error_type, .. } = call;
        let outcome = Outcome::new(*status, output.as_deref(), error.as_deref(), error_type.as_deref());
        Self {
            id: call.tool_call_id.to_string(),
            name: &call.tool_name,
            parameters: &call.input,
            outcome: Some(outcome),
        }
    }
}
