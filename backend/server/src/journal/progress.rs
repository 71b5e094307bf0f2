//! The assistant's message as far as a turn has come, for snapshots and for the turn's end: its text, and its calls with
//! as much of their texts as one event may carry.

use chrono::{DateTime, Utc};
use tallybook_protocol::{CallsBudget, ChatEvent, ToolCall, ToolCallEnd, ToolCallStart, ToolCallStatus};

/// The message as far as it is.
#[derive(Clone, Debug, Default)]
pub(super) struct Progress {
    pub(super) content: String,
    calls: Vec<ToolCall>,
    /// Bytes of the calls' texts as they are held; beyond one budget they are cut.
    held: CallsBudget,
}

impl Progress {
    /// A message as its rows have it.
    pub(super) fn of(content: String, calls: Vec<ToolCall>) -> Self {
        Self { content, calls, held: CallsBudget::default() }
    }

    /// The calls so far.
    pub(super) fn calls(&self) -> &[ToolCall] {
        &self.calls
    }

    /// The text and the calls so far.
    pub(super) fn into_parts(self) -> (String, Vec<ToolCall>) {
        (self.content, self.calls)
    }

    /// Takes in what happened at `at`.
    pub(super) fn apply(&mut self, event: &ChatEvent, at: DateTime<Utc>) {
        match event {
            ChatEvent::ContentDelta(delta) => self.content.push_str(&delta.delta),
            ChatEvent::ToolCallStart(start) => self.begin_call(start, at),
            ChatEvent::ToolCallEnd(end) => self.end_call(end),
            ChatEvent::Snapshot(snapshot) => {
                self.content.clone_from(&snapshot.content);
                self.calls.clone_from(&snapshot.tool_calls);
                self.held = CallsBudget::default();
                self.calls.iter_mut().for_each(|call| self.held.fit(call));
            }
            ChatEvent::MessageStart(_)
            | ChatEvent::MessageEnd(_)
            | ChatEvent::Error(_)
            | ChatEvent::ToolCallPreparing(_)
            | ChatEvent::ModelRetry(_)
            | ChatEvent::Unknown => {}
        }
    }

    fn begin_call(&mut self, start: &ToolCallStart, at: DateTime<Utc>) {
        let mut call = ToolCall {
            tool_call_id: start.tool_call_id,
            tool_name: start.tool_name.clone(),
            input: start.input.clone(),
            input_bytes: start.input_bytes,
            offset: start.offset,
            status: ToolCallStatus::Pending,
            output: None,
            output_bytes: None,
            error: None,
            truncated: start.truncated,
            duration_ms: None,
            started_at: at,
        };
        self.held.fit(&mut call);
        self.calls.push(call);
    }

    fn end_call(&mut self, end: &ToolCallEnd) {
        let Some(call) = self.calls.iter_mut().find(|call| call.tool_call_id == end.tool_call_id) else { return };
        call.status = end.status;
        call.output.clone_from(&end.output);
        call.output_bytes = end.output_bytes;
        call.error.clone_from(&end.error);
        call.truncated |= end.truncated;
        call.duration_ms = Some(end.duration_ms);
        self.held.fit_result(call);
    }
}
