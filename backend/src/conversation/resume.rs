//! Going on with a turn that was cut off: from its last whole step, under a new epoch. Nothing that completed runs again.
//! Of the calls whose outcome is unknown, those of idempotent tools are made once more; of the others the model is told
//! that nobody knows whether they ran.

use std::collections::HashSet;

use tallybook_protocol::{ChatEvent, MessageStatus, Snapshot, ToolCallStatus};
use uuid::Uuid;

use super::{
    EventsAnswer, ServiceError,
    history::{last_row, text_bytes},
    model::{ConversationRow, MessageRow, ModelCallRow, ToolCallRow, tool_call_status},
    repository::{
        calls, messages,
        turns::{self, TurnRows},
    },
    service::{ConversationService, Inner},
};
use crate::{
    accounts::UserId,
    agent::{AnsweredStep, PlannedCall, ResumedTurn},
    journal::{EventId, stored},
    llm::{AssistantBlock, ModelMessage, ToolCallRequest},
    tools::ToolRegistry,
};

impl ConversationService {
    /// Goes on with the conversation's last answer, which was interrupted, stopped or failed.
    pub async fn continue_turn(&self, user: UserId, uuid: Uuid) -> Result<EventsAnswer, ServiceError> {
        let inner = &self.inner;
        if inner.draining.is_cancelled() {
            return Err(ServiceError::ShuttingDown);
        }
        let row = inner.find(user, uuid).await?;
        if row.active_message_id.is_some() {
            return Err(ServiceError::TurnRunning);
        }
        let (message, rows) = inner.find_cut_off_turn(&row).await?;
        let steps = calls::list_model_calls(&inner.db, &[message.id]).await?;
        let bytes: usize = whole_steps(&steps).iter().flat_map(|(_, said)| said).map(text_bytes).sum();
        let content = message.content.get(..bytes).unwrap_or(&message.content).to_owned();
        let start = ChatEvent::Snapshot(Snapshot {
            assistant_message_id: message.id,
            epoch: rows.epoch,
            content: content.clone(),
            tool_calls: inner.tool_calls_of(message.id).await?,
            status: MessageStatus::Streaming,
        });
        let lease_until = turns::database_now(&inner.db).await? + inner.lifetimes.lease;
        let mut tx = inner.db.begin().await?;
        if !turns::resume_turn(&mut tx, row.id, rows, &content, &inner.owner, lease_until).await? {
            return Err(ServiceError::TurnRunning);
        }
        calls::forget_failed_steps(&mut tx, message.id).await?;
        stored::create_event(&mut tx, EventId { message_id: message.id, epoch: rows.epoch, seq: 0 }, &start).await?;
        tx.commit().await?;
        inner.spawn_turn(user, &row, rows, &start)
    }
}

impl Inner {
    async fn find_cut_off_turn(&self, row: &ConversationRow) -> Result<(MessageRow, TurnRows), ServiceError> {
        let head = row.head_message_id.ok_or(ServiceError::NothingToContinue)?;
        let message = messages::find_message(&self.db, row.id, head).await?.ok_or(ServiceError::NothingToContinue)?;
        let Some(user_message_id) = message.parent_id.filter(|_| message.status().is_cut_off()) else {
            return Err(ServiceError::NothingToContinue);
        };
        let rows = TurnRows { user_message_id, assistant_message_id: message.id, epoch: message.epoch + 1 };
        Ok((message, rows))
    }

    /// Where a turn goes on, and `history` without the results that are still to come.
    pub(super) async fn resumed_turn(
        &self,
        message_id: i64,
        history: &mut [ModelMessage],
    ) -> sqlx::Result<ResumedTurn> {
        let steps = calls::list_model_calls(&self.db, &[message_id]).await?;
        let tool_calls = calls::list_tool_calls(&self.db, &[message_id]).await?;
        let mut whole = whole_steps(&steps);
        let resumed = ResumedTurn {
            whole_steps: u32::try_from(whole.len()).unwrap_or(u32::MAX),
            answered: whole
                .pop()
                .map(|(record, blocks)| answered_step(record, &blocks, &tool_calls, self.agent.tools())),
            next_step: steps.iter().map(|call| number(call.step) + 1).max().unwrap_or(0),
            usage: steps.iter().map(ModelCallRow::usage).sum(),
        };
        if let (Some(ModelMessage::ToolResults(results)), Some(step)) = (history.last_mut(), &resumed.answered) {
            let to_come: HashSet<_> = step.calls.iter().map(|call| call.request.id.as_str()).collect();
            results.retain(|result| !to_come.contains(result.call_id.as_str()));
        }
        Ok(resumed)
    }
}

/// Those steps of a turn whose answers are whole, in order.
fn whole_steps(steps: &[ModelCallRow]) -> Vec<(&ModelCallRow, Vec<AssistantBlock>)> {
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
        if !is_to_run(last_row(rows.iter().copied(), request), tools) {
            continue;
        }
        let position = if taken.insert(own) {
            own
        } else {
            after_all += 1;
            after_all - 1
        };
        calls.push(PlannedCall { position, request: request.clone() });
    }
    AnsweredStep {
        step: number(record.step),
        stop_reason: record.stop_reason.clone().unwrap_or_default(),
        has_calls: !asked.is_empty(),
        calls,
    }
}

/// A call that was never made, or may be made again because its outcome is unknown.
fn is_to_run(row: Option<&ToolCallRow>, tools: &ToolRegistry) -> bool {
    let Some(row) = row else { return true };
    let unknown = matches!(tool_call_status(&row.status), ToolCallStatus::Interrupted | ToolCallStatus::Cancelled);
    unknown && tools.find_spec(&row.tool_name).is_some_and(|spec| spec.idempotent)
}

/// Steps and positions are counted from 0 and stored as signed numbers.
fn number(stored: i32) -> u32 {
    u32::try_from(stored).unwrap_or(0)
}
