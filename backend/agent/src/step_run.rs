//! State of a step whose calls are being run, and the results of calls for the model and the recorder. `tool_step` runs
//! the calls, and `consent` decides whether they may run.

use std::sync::Arc;

use tallybook_llm::ToolResult;
use tallybook_protocol::{ToolCallStatus, Usage};
use tallybook_tools::{Secrets, ToolRegistry, UserKey};
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

/// Runs the calls of all turns. Clones share the slots in which calls run.
#[derive(Clone)]
pub(crate) struct ToolRunner {
    pub(crate) limits: Limits,
    pub(crate) slots: Arc<Semaphore>,
    /// The models that review high-risk calls.
    pub(crate) reviewers: Option<Arc<Reviewers>>,
    /// Values to redact from the output of tools.
    pub(crate) secrets: Secrets,
    /// The runtime on which calls run: on other threads than turns, because a tool may block its thread.
    pub(crate) runtime: Handle,
}

impl ToolRunner {
    /// Creates a runner whose calls run on the current runtime.
    pub(crate) fn new(limits: Limits) -> Self {
        let slots = Arc::new(Semaphore::new(limits.concurrent_calls.max(1)));
        Self { limits, slots, reviewers: None, secrets: Secrets::default(), runtime: Handle::current() }
    }

    pub(crate) fn with_reviewers(self, reviewers: Reviewers) -> Self {
        Self { reviewers: Some(Arc::new(reviewers)), ..self }
    }

    pub(crate) fn with_secrets(self, secrets: Secrets) -> Self {
        Self { secrets, ..self }
    }
}

/// A step that is being run.
pub(crate) struct StepRun<'a, R> {
    pub(crate) runner: &'a ToolRunner,
    pub(crate) tools: &'a ToolRegistry,
    pub(crate) whose: UserKey,
    pub(crate) step: u32,
    pub(crate) calls: Vec<PlannedCall>,
    pub(crate) recorder: &'a mut R,
    pub(crate) halt: &'a Halt<'a>,
    pub(crate) running: Running,
    pub(crate) results: Vec<Option<ToolResult>>,
    /// Tokens used by the reviewers.
    pub(crate) usage: Usage,
}

/// The outcome of the approval check of a call.
pub(crate) enum Leave {
    Given,
    /// The call never runs. Its result tells the model why.
    Refused,
    /// A user must decide.
    Awaited,
}

/// Returns the result that the model receives for a call that ended.
pub(crate) fn result_for_model(call: &PlannedCall, returned: &ToolReturn, shown_bytes: usize) -> ToolResult {
    let request = &call.request;
    let edited = call.waited.as_ref().filter(|waited| waited.is_edited).map(|_| request.input_text.as_str());
    let content = match returned {
        Ok(output) => success_json(&request.name, &output.text, output.text.len(), edited, shown_bytes),
        Err(error) => error_json(&request.name, &error.message, &error.error_type, edited, shown_bytes),
    };
    ToolResult { call_id: request.id.clone(), tool_name: request.name.clone(), content, is_error: returned.is_err() }
}

/// Returns the record of a call that ended, with its output truncated to `stored_output_bytes`.
pub(crate) fn ended(returned: ToolReturn, started_at: Instant, stored_output_bytes: usize) -> EndedToolCall {
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

pub(crate) fn duration_ms(since: Instant) -> i64 {
    i64::try_from(since.elapsed().as_millis()).unwrap_or(i64::MAX)
}
