//! A recorder that keeps a turn in memory.

use std::time::Duration;

use tallybook_protocol::{Plan, PlanStepChanged, ToolCallId};
use tallybook_tools::ToolSpec;
use tokio::{sync::watch, time::timeout};

use super::super::{
    Activity, ApprovalRequest, Earlier, EndedToolCall, ModelCallRecord, NewPlan, PlanStepChange, Purpose, RecordError,
    Review, StartedToolCall, TurnRecorder,
};

/// An event that a [`MemoryRecorder`] received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RecordedEvent {
    /// [`TurnRecorder::text`]; adjacent texts are joined.
    Text(String),
    /// [`TurnRecorder::reasoning`]: the step and the text.
    Reasoning(u32, String),
    /// [`TurnRecorder::request_approval`] of a call that has to wait: key, name and arguments.
    Asked(i64, String, String),
    /// [`TurnRecorder::tool_started`]: key, name and arguments.
    ToolStarted(i64, String, String),
    /// [`TurnRecorder::tool_ended`].
    ToolEnded(i64, EndedToolCall),
    /// [`TurnRecorder::model_called`] for an answer: the step, and why the model stopped or failed.
    StepAnswered(u32, Result<String, String>),
}

/// Keeps a turn in memory.
#[derive(Debug, Default)]
pub(crate) struct MemoryRecorder {
    /// All events so far, in order.
    pub(crate) events: Vec<RecordedEvent>,
    /// Signals that settled results are stored; if `None`, they are stored at once.
    pub(crate) stored: Option<watch::Receiver<bool>>,
    /// Results of calls that are still to be settled.
    pub(crate) ended: Vec<RecordedEvent>,
    /// Activities, which the storing recorder does not store.
    pub(crate) activities: Vec<String>,
    /// Tools that a user always allows.
    pub(crate) approved: Vec<&'static str>,
    pub(crate) last_key: i64,
    /// The shorter history to return; `None` if there is nothing left to drop.
    pub(crate) shorter: Option<Earlier>,
    /// The context limit in each request for a shorter history.
    pub(crate) limits: Vec<Option<usize>>,
}

impl MemoryRecorder {
    /// Adds an event. All calls that ended must have been settled before it.
    fn record(&mut self, event: RecordedEvent) {
        assert_eq!(self.ended, [], "they were to be settled before {event:?}");
        self.events.push(event);
    }

    /// Returns the key of a call. A call that waited has one already.
    fn key(&mut self, call: &StartedToolCall<'_>) -> ToolCallId {
        call.waited.unwrap_or_else(|| {
            self.last_key += 1;
            ToolCallId(self.last_key)
        })
    }
}

impl TurnRecorder for MemoryRecorder {
    async fn text(&mut self, _: u32, delta: &str) -> Result<(), RecordError> {
        if let Some(RecordedEvent::Text(text)) = self.events.last_mut() {
            text.push_str(delta);
        } else {
            self.record(RecordedEvent::Text(delta.to_owned()));
        }
        Ok(())
    }

    fn reasoning(&mut self, step: u32, delta: &str) {
        self.record(RecordedEvent::Reasoning(step, delta.to_owned()));
    }

    async fn text_was_reasoning(&mut self, step: u32, words: &str) -> Result<(), RecordError> {
        if matches!(self.events.last(), Some(RecordedEvent::Text(_))) {
            self.events.pop();
        }
        self.reasoning(step, words);
        Ok(())
    }

    async fn has_saved_approval(&mut self, tool: &ToolSpec) -> Result<bool, RecordError> {
        Ok(self.approved.contains(&tool.name.as_str()))
    }

    async fn request_approval(
        &mut self,
        call: &StartedToolCall<'_>,
        tool: &ToolSpec,
        _: &Review,
    ) -> Result<ApprovalRequest, RecordError> {
        if self.approved.contains(&tool.name.as_str()) {
            return Ok(ApprovalRequest::AlwaysAllowed);
        }
        let (name, input) = (call.request.name.clone(), call.request.input_text.clone());
        let ToolCallId(key) = self.key(call);
        self.record(RecordedEvent::Asked(key, name, input));
        Ok(ApprovalRequest::Requested(ToolCallId(key)))
    }

    async fn tool_started(&mut self, call: &StartedToolCall<'_>) -> Result<ToolCallId, RecordError> {
        let (name, input) = (call.request.name.clone(), call.request.input_text.clone());
        let id = self.key(call);
        self.record(RecordedEvent::ToolStarted(id.0, name, input));
        Ok(id)
    }

    fn tool_ended(&mut self, ToolCallId(key): ToolCallId, end: &EndedToolCall) {
        self.ended.push(RecordedEvent::ToolEnded(key, end.clone()));
    }

    async fn settle(&mut self) -> Result<(), RecordError> {
        if let Some(stored) = self.stored.as_mut().filter(|_| !self.ended.is_empty()) {
            let reached = timeout(Duration::from_secs(20), stored.wait_for(|stored| *stored)).await;
            assert!(reached.is_ok(), "the event was not stored");
        }
        self.events.append(&mut self.ended);
        Ok(())
    }

    async fn shorten_history(&mut self, limit: Option<usize>) -> Result<Option<Earlier>, RecordError> {
        self.limits.push(limit);
        Ok(self.shorter.take())
    }

    async fn plan_made(&mut self, _: &NewPlan) -> Result<Plan, RecordError> {
        Ok(Plan::default())
    }

    async fn plan_step_changed(&mut self, _: &PlanStepChange) -> Result<PlanStepChanged, RecordError> {
        Ok(PlanStepChanged::default())
    }

    async fn before_step(&mut self, _: impl FnOnce() -> usize + Send) -> Result<(), RecordError> {
        Ok(())
    }

    fn activity(&mut self, activity: Activity<'_>) {
        self.activities.push(match activity {
            Activity::WritingCall { tool_name, bytes } => format!("{tool_name}: {bytes} bytes"),
            Activity::Retrying(wait) => format!("{}: attempt {} of {}", wait.code, wait.attempt, wait.attempts),
            Activity::CallProgress { id: ToolCallId(key), progress } => format!("call {key}: {}", progress.progress),
        });
    }

    async fn model_called(&mut self, step: &ModelCallRecord) -> Result<(), RecordError> {
        if step.purpose != Purpose::Answer {
            return Ok(());
        }
        let end = match (&step.stop_reason, &step.error) {
            (Some(reason), _) => Ok(reason.clone()),
            (None, error) => Err(error.clone().unwrap_or_default()),
        };
        self.record(RecordedEvent::StepAnswered(step.step, end));
        Ok(())
    }
}
