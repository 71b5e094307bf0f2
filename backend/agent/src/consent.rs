//! Decides whether the high-risk calls of a step may run: asks reviewers for votes and requests approval.

use std::{collections::HashMap, pin::pin};

use futures_util::StreamExt as _;
use tallybook_protocol::{Decision, ToolCallStatus};
use tallybook_tools::{ToolError, ToolRegistry, ToolSpec};
use tokio::time::Instant;

use super::{
    error::AgentError,
    limits::{MAX_REVIEWED_CALLS, MAX_REVIEWED_INPUT_BYTES},
    recorder::{Consent, TurnRecorder},
    review::{Subject, Voted},
    step_run::{Leave, StepRun, ended, result_for_model},
    turn::{PlannedCall, WaitedCall},
    vote::{Review, Vote},
};

/// Error text of a call that needs approval but has secret arguments.
const CANNOT_WAIT: &str = "the call has secret arguments, which are not kept, so it cannot wait until somebody gives consent to \
                           it; who runs the server can let calls of this tool run by themselves (risk = \"low\")";

impl<R: TurnRecorder> StepRun<'_, R> {
    /// Reviews those high-risk calls that need approval. Returns the reviews by the index of the call.
    pub(crate) async fn review(&mut self, high: &[usize], request: &str) -> Result<HashMap<usize, Review>, AgentError> {
        let Some(reviewers) = self.runner.reviewers.as_deref() else { return Ok(HashMap::new()) };
        let Self { tools, step, calls, recorder, halt, usage, .. } = self;
        let (mut indexes, mut subjects) = (Vec::new(), Vec::new());
        for &index in high {
            let input = &calls[index].request.input_text;
            let Some(tool) = tool_to_ask_for(tools, &calls[index]) else { continue };
            if subjects.len() < MAX_REVIEWED_CALLS
                && input.len() <= MAX_REVIEWED_INPUT_BYTES
                && !recorder.has_saved_approval(tool).await?
            {
                indexes.push(index);
                subjects.push(Subject { request, tool, input });
            }
        }
        let mut votes = pin!(reviewers.votes(&subjects, *step, halt));
        let mut cast = vec![Vec::new(); subjects.len()];
        let mut over = None;
        while let Some(Voted { subject, reviewer, vote, call }) = votes.next().await {
            if let Some(call) = call {
                recorder.model_called(&call).await?;
                *usage += call.usage;
            }
            match vote {
                Ok(vote) => cast[subject].push((reviewer, vote)),
                Err(error) => over = Some(error),
            }
        }
        if let Some(error) = over {
            return Err(error);
        }
        let review = |mut votes: Vec<(usize, Vote)>| {
            votes.sort_by_key(|(reviewer, _)| *reviewer);
            reviewers.review(votes.into_iter().map(|(_, vote)| vote).collect())
        };
        Ok(indexes.into_iter().zip(cast.into_iter().map(review)).collect())
    }

    /// Decides whether a call that needs approval may run. If the tool is no longer the one that was approved, approval
    /// is requested again.
    pub(crate) async fn consent(&mut self, index: usize, review: Review) -> Result<Leave, AgentError> {
        let call = &mut self.calls[index];
        let Some(tool) = tool_to_ask_for(self.tools, call) else { return Ok(Leave::Given) };
        if call.secret.is_some() && review.ruling.is_none() && !self.recorder.has_saved_approval(tool).await? {
            return self.refuse_to_wait(index).await;
        }
        let id = match self.recorder.request_consent(&call.started(self.step), tool, &review).await? {
            Consent::Given => return Ok(Leave::Given),
            Consent::Asked(id) => id,
        };
        let is_edited = call.waited.as_ref().is_some_and(|waited| waited.is_edited);
        call.waited = Some(WaitedCall { id, tool_hash: tool.hash(), is_edited });
        let Some(ruling) = review.ruling else { return Ok(Leave::Awaited) };
        if ruling.decision == Decision::Approve {
            return Ok(Leave::Given);
        }
        self.refuse(index, ToolError::other(ToolCallStatus::Denied.as_str(), ruling.refusal()));
        Ok(Leave::Refused)
    }

    /// Refuses a call that would have to wait: a waiting turn keeps nothing in memory, and a secret is stored nowhere
    /// else.
    async fn refuse_to_wait(&mut self, index: usize) -> Result<Leave, AgentError> {
        let id = self.recorder.tool_started(&self.calls[index].started(self.step)).await?;
        let error = ToolError::other("secret_cannot_wait", CANNOT_WAIT);
        let end = ended(Err(error.clone()), Instant::now(), self.runner.limits.stored_output_bytes);
        self.refuse(index, error);
        self.recorder.tool_ended(id, &end);
        self.recorder.settle().await?;
        Ok(Leave::Refused)
    }

    fn refuse(&mut self, index: usize, error: ToolError) {
        let shown_bytes = self.runner.limits.result_bytes(self.calls.len());
        self.results[index] = Some(result_for_model(&self.calls[index], &Err(error), shown_bytes));
    }
}

/// Returns the tool of a call that needs approval and does not have it; otherwise `None`.
fn tool_to_ask_for<'a>(tools: &'a ToolRegistry, call: &PlannedCall) -> Option<&'a ToolSpec> {
    let tool = tools.find_spec(&call.request.name).filter(|_| call.needs_consent(tools))?;
    let is_approved = call.waited.as_ref().is_some_and(|waited| waited.tool_hash == tool.hash());
    (!is_approved).then_some(tool)
}
