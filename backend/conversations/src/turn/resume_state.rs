//! Determines the state from which a turn resumes if it ended early or waited for approval: the state after its last
//! complete step. Completed calls never run again. Approved calls run under their existing rows. Calls with an unknown
//! outcome run again if their tools are idempotent. Otherwise the model learns that it is unknown whether they ran.

use std::collections::HashSet;

use tallybook_agent::{AnsweredStep, PendingApproval, PlannedCall, ResumeState};
use tallybook_llm::{AssistantBlock, ModelMessage, StopReason, ToolCallRequest};
use tallybook_protocol::{MessageId, ToolCallStatus};
use tallybook_tools::ToolRegistry;

use crate::{
    context::Context,
    store::{
        model_calls,
        rows::{ModelCallRow, NOT_STARTED_TYPE, ToolCallRow},
        tool_calls, turns,
    },
    turn::{context::history::last_row, plan::PlanCursor},
};

/// Returns the state from which a turn resumes, at `place` in its plan if it has one. Removes from `history` the
/// results of calls that are still to run.
pub(crate) async fn continued_turn(
    context: &Context,
    tools: &ToolRegistry,
    message_id: MessageId,
    history: &mut [ModelMessage],
    place: Option<PlanCursor>,
) -> sqlx::Result<ResumeState> {
    let steps = model_calls::list_model_calls(&context.db, &[message_id]).await?;
    let mut calls = tool_calls::list_tool_calls(&context.db, &[message_id], 0).await?;
    for call in calls.iter_mut().filter(|call| call.is_approved()) {
        // The call runs with its full arguments.
        if let Some(text) = tool_calls::find_input_text(&context.db, call.id).await? {
            call.input_text = text;
        }
    }
    let mut whole = whole_steps(&steps);
    // With a plan, each run of the loop has a last step, which does not count against the limit.
    let counts =
        |(record, blocks): &&(&ModelCallRow, Vec<AssistantBlock>)| place.is_none() || continues_loop(record, blocks);
    let whole_steps = u32::try_from(whole.iter().filter(counts).count()).unwrap_or(u32::MAX);
    let from_step = place.as_ref().map_or(0, |place| place.from_step);
    let last = whole.pop().filter(|(record, _)| record.step >= from_step);
    let continued = ResumeState {
        whole_steps,
        calls: calls.len(),
        answered: last.map(|(record, blocks)| answered_step(record, &blocks, &calls, tools)),
        next_step: steps.iter().map(|call| number(call.step) + 1).max().unwrap_or(0),
        usage: model_calls::find_usage(&context.db, message_id).await?,
        active: turns::find_active(&context.db, message_id).await?,
        plan: place.map(|place| place.continued),
    };
    if let (Some(ModelMessage::ToolResults(results)), Some(step)) = (history.last_mut(), &continued.answered) {
        let to_come: HashSet<_> = step.calls.iter().map(|call| call.request.id.as_str()).collect();
        results.retain(|result| !to_come.contains(result.call_id.as_str()));
    }
    Ok(continued)
}

/// Returns `true` if the loop had to continue after a step.
fn continues_loop(record: &ModelCallRow, blocks: &[AssistantBlock]) -> bool {
    let is_paused = record.stop_reason.as_deref() == Some(StopReason::Pause.as_str());
    is_paused || blocks.iter().any(|block| block.tool_call().is_some())
}

/// Returns the steps of a turn whose model answers are complete, each with its blocks, in order.
pub(crate) fn whole_steps(steps: &[ModelCallRow]) -> Vec<(&ModelCallRow, Vec<AssistantBlock>)> {
    steps.iter().filter(|call| call.error.is_none()).map(|call| (call, call.blocks())).collect()
}

fn answered_step(
    record: &ModelCallRow,
    blocks: &[AssistantBlock],
    tool_calls: &[ToolCallRow],
    tools: &ToolRegistry,
) -> AnsweredStep {
    let rows: Vec<&ToolCallRow> = tool_calls.iter().filter(|row| row.step == record.step).collect();
    let asked: Vec<&ToolCallRequest> = blocks.iter().filter_map(AssistantBlock::tool_call).collect();
    let mut taken: HashSet<u32> = rows.iter().map(|row| number(row.position)).collect();
    let mut after_all =
        taken.iter().max().map_or(0, |last| last + 1).max(u32::try_from(asked.len()).unwrap_or(u32::MAX));
    let mut calls = Vec::new();
    for (own, &request) in (0..).zip(&asked) {
        let row = last_row(rows.iter().copied(), request);
        if let Some(approved) = row.filter(|row| row.is_approved()) {
            calls.push(approved_call(approved, request));
            continue;
        }
        if !is_to_run(row, tools) {
            continue;
        }
        let position = if taken.insert(own) {
            own
        } else {
            after_all += 1;
            after_all - 1
        };
        calls.push(PlannedCall { position, request: request.clone(), waited: None, secret: None });
    }
    AnsweredStep {
        step: number(record.step),
        stop_reason: record.stop_reason.clone().unwrap_or_default(),
        has_calls: !asked.is_empty(),
        calls,
    }
}

/// Returns an approved call, with the arguments that were approved.
fn approved_call(row: &ToolCallRow, request: &ToolCallRequest) -> PlannedCall {
    let waited = PendingApproval {
        id: row.id,
        tool_hash: row.tool_hash.clone().unwrap_or_default(),
        is_edited: row.proposed_input_text.is_some(),
    };
    let request = ToolCallRequest { input_text: row.input_text.clone(), ..request.clone() };
    PlannedCall { position: number(row.position), request, waited: Some(waited), secret: None }
}

/// Returns `true` if a call never ran, or if its outcome is unknown and its tool is idempotent.
fn is_to_run(row: Option<&ToolCallRow>, tools: &ToolRegistry) -> bool {
    let Some(row) = row else { return true };
    if row.error_type.as_deref() == Some(NOT_STARTED_TYPE) {
        return true;
    }
    let unknown = matches!(row.status, ToolCallStatus::Interrupted | ToolCallStatus::Cancelled);
    unknown && tools.find_spec(&row.tool_name).is_some_and(|spec| spec.idempotent)
}

/// Converts the number of a step or a position, which is never negative but stored as a signed number.
fn number(stored: i32) -> u32 {
    u32::try_from(stored).unwrap_or(0)
}
