//! Keeps a turn in memory.

use tallybook_protocol::ToolCallId;

use super::super::{Activity, EndedToolCall, RecordError, StartedToolCall, StepRecord, TurnRecorder};

/// What a [`MemoryRecorder`] was told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RecordedEvent {
    /// [`TurnRecorder::text`]; neighbouring texts are joined.
    Text(String),
    /// [`TurnRecorder::tool_started`]: key, name and arguments.
    ToolStarted(i64, String, String),
    /// [`TurnRecorder::tool_ended`].
    ToolEnded(i64, EndedToolCall),
    /// [`TurnRecorder::step_answered`]: the step, and why the model stopped or failed.
    StepAnswered(u32, Result<String, String>),
}

/// Keeps a turn in memory.
#[derive(Debug, Default)]
pub(super) struct MemoryRecorder {
    /// Everything told so far, in order.
    pub(super) events: Vec<RecordedEvent>,
    /// What was told and is not kept.
    pub(super) activities: Vec<String>,
    started: i64,
}

impl TurnRecorder for MemoryRecorder {
    async fn text(&mut self, _: u32, delta: &str) -> Result<(), RecordError> {
        if let Some(RecordedEvent::Text(text)) = self.events.last_mut() {
            text.push_str(delta);
        } else {
            self.events.push(RecordedEvent::Text(delta.to_owned()));
        }
        Ok(())
    }

    async fn tool_started(&mut self, call: &StartedToolCall<'_>) -> Result<ToolCallId, RecordError> {
        self.started += 1;
        let (name, input) = (call.request.name.clone(), call.request.input_text.clone());
        self.events.push(RecordedEvent::ToolStarted(self.started, name, input));
        Ok(ToolCallId(self.started))
    }

    async fn tool_ended(&mut self, ToolCallId(key): ToolCallId, end: &EndedToolCall) -> Result<(), RecordError> {
        self.events.push(RecordedEvent::ToolEnded(key, end.clone()));
        Ok(())
    }

    fn activity(&mut self, activity: Activity<'_>) {
        self.activities.push(match activity {
            Activity::WritingCall { tool_name, bytes } => format!("{tool_name}: {bytes} bytes"),
            Activity::Retrying(wait) => format!("{}: attempt {} of {}", wait.code, wait.attempt, wait.attempts),
        });
    }

    async fn step_answered(&mut self, step: &StepRecord) -> Result<(), RecordError> {
        let end = match (&step.stop_reason, &step.error) {
            (Some(reason), _) => Ok(reason.clone()),
            (None, error) => Err(error.clone().unwrap_or_default()),
        };
        self.events.push(RecordedEvent::StepAnswered(step.step, end));
        Ok(())
    }
}
