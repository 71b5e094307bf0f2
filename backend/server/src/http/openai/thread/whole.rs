//! Collects an answer in a thread for one response, and serializes its tool calls.

use serde::Serialize;
use tallybook_protocol::{MessageEnd, RawJson, ToolCall, ToolCallEnd, ToolCallStatus};
use utoipa::ToSchema;

use super::super::sink::Sink;

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

/// What came of it.
#[derive(Serialize, ToSchema)]
#[schema(as = ToolOutcome)]
pub(crate) struct Outcome<'a> {
    status: ToolCallStatus,
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    /// The kind of failure, e.g. `timeout` or `denied`.
    #[serde(skip_serializing_if = "Option::is_none")]
    error_type: Option<&'a str>,
}

impl<'a> Outcome<'a> {
    pub(crate) fn of_end(end: &'a ToolCallEnd) -> Self {
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
