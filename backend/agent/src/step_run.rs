//! A step whose calls are being run: what is known of it, and what the model is told of each call. How its calls run is in
//! `tool_step`, whether they may in `consent`.

use std::sync::Arc;

use tallybook_llm::ToolResult;
use tallybook_protocol::{ToolCallStatus, Usage};
use tallybook_tools::{Secrets, ToolRegistry, Whose};
use tokio::{runtime::Handle, sync::Semaphore, time::Instant};

use super::{
    halt::Halt,
    limits::Limits,
    recorder::EndedToolCall,
    result::{error_json, shorten, success_json},
    review::Reviewers,
    running::{Running, ToolReturn},
    turn::PlannedCall,
};

/// Runs the calls of all turns. Its clones share the slots in which calls run.
#[derive(Clone)]
pub(super) struct ToolRunner {
    pub(super) limits: Limits,
    pub(super) slots: Arc<Semaphore>,
    /// Who reviews high-risk calls.
    pub(super) reviewers: Option<Arc<Reviewers>>,
    /// What nobody reads in what tools say.
    pub(super) secrets: Secrets,
    /// Where calls run: on other threads than turns, since a tool may hold its thread.
    pub(super) runtime: Handle,
}

impl ToolRunner {
    /// Its calls run on the runtime that this is called on.
    pub(super) fn new(limits: Limits) -> Self {
        let slots = Arc::new(Semaphore::new(limits.concurrent_calls.max(1)));
        Self { limits, slots, reviewers: None, secrets: Secrets::default(), runtime: Handle::current() }
    }

    pub(super) fn with_reviewers(self, reviewers: Reviewers) -> Self {
        Self { reviewers: Some(Arc::new(reviewers)), ..self }
    }

    pub(super) fn with_secrets(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }
}

/// One step that is being run.
pub(super) struct StepRun<'a, R> {
    pub(super) runner: &'a ToolRunner,
    pub(super) tools: &'a ToolRegistry,
    pub(super) whose: Whose,
    pub(super) step: u32,
    pub(super) calls: Vec<PlannedCall>,
    pub(super) recorder: &'a mut R,
    pub(super) halt: &'a Halt<'a>,
    pub(super) running: Running,
    pub(super) results: Vec<Option<ToolResult>>,
    /// What reviewing cost.
    pub(super) usage: Usage,
}

/// Whether a call may run.
pub(super) enum Leave {
    Given,
    /// It never will. The model is told.
    Refused,
    /// Somebody has to decide.
    Awaited,
}

/// What the model is told of a call that came to an end.
pub(super) fn result_for_model(call: &PlannedCall, returned: &ToolReturn, shown_bytes: usize) -> ToolResult {
    let request = &call.request;
    let edited = call.waited.as_ref().filter(|waited| waited.is_edited).map(|_| request.input_text.as_str());
    let content = match returned {
        Ok(output) => success_json(&request.name, &output.text, output.text.len(), edited, shown_bytes),
        Err(error) => error_json(&request.name, &error.message, &error.error_type, edited, shown_bytes),
    };
    ToolResult { call_id: request.id.clone(), tool_name: request.name.clone(), content, is_error: returned.is_err() }
}

/// What is recorded of a call that came to its end, with so much of its output.
pub(super) fn ended(returned: ToolReturn, started_at: Instant, stored_output_bytes: usize) -> EndedToolCall {
    let duration_ms = duration_ms(started_at);
    match returned {
        Ok(output) => EndedToolCall {
            status: ToolCallStatus::Success,
            output: Some(shorten(&output.text, stored_output_bytes)),
            error: None,
            error_type: None,
            duration_ms,
        },
        Err(error) => EndedToolCall {
            status: ToolCallStatus::Error,
            output: None,
            error: Some(error.message),
            error_type: Some(error.error_type),
            duration_ms,
        },
    }
}

pub(super) fn duration_ms(since: Instant) -> i64 {
    i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX)
}
