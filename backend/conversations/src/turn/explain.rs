//! Explains in a few lines how an answer was made and why. The model that answered writes the lines. If it cannot (the
//! demo model never can), they list the names of the tools.

use std::{collections::BTreeMap, sync::Arc};

use tallybook_accounts::UserId;
use tallybook_agent::{MAX_REASONING_LINES, SideCall, SummaryCall, explain_reasoning, reasoning_lines};
use tallybook_protocol::{MessageId, ToolCallStatus};
use uuid::Uuid;

use crate::{
    ServiceError,
    admission::{self, Request},
    context::Context,
    limits::{MAX_SUMMED_CALLS, MAX_SUMMED_CHARS, MAX_SUMMING_TOKENS},
    models::{Model, PermittedModels},
    service::ConversationService,
    store::{
        ConversationId, messages,
        rows::{MessageRow, ToolCallRow},
        tool_calls,
    },
    turn::side_call,
    user_limits::Weight,
};

impl ConversationService {
    /// Explains an answer at the user's request. The request counts like a message, and shares the limit of concurrent
    /// direct model calls. Fails with `TurnRunning` while the answer is written, or `AwaitingApproval` while it waits.
    pub async fn explain_answer(
        &self,
        user: UserId,
        uuid: Uuid,
        message_id: MessageId,
    ) -> Result<Vec<String>, ServiceError> {
        let context = &self.context;
        let row = context.find_conversation(user, uuid).await?;
        if row.active_message_id == Some(message_id) {
            return Err(context.busy(row.id).await?);
        }
        let answer = find_message(context, row.id, message_id).await?;
        let access = context.access_of(user).await?;
        let model = model_of(&access.models, &answer);
        let _slot = context.direct_calls.try_acquire(user).ok_or(ServiceError::TooManyDirectCalls)?;
        let prices = model.as_ref().and_then(|model| model.prices());
        let request = Request { user, weight: Weight::Message, tokens: MAX_SUMMING_TOKENS, prices };
        let request = admission::admit_request(context, &access.limits, request).await?;
        let summed = explain(context, model.as_deref(), row.id, &answer).await;
        admission::settle(context, request).await;
        summed
    }

    /// Explains an answer right after its turn, without checking limits again.
    pub async fn explain_reasoning(
        &self,
        user: UserId,
        uuid: Uuid,
        message_id: MessageId,
    ) -> Result<Vec<String>, ServiceError> {
        let row = self.context.find_conversation(user, uuid).await?;
        let answer = find_message(&self.context, row.id, message_id).await?;
        let model = model_of(&self.context.models_of(user).await?, &answer);
        explain(&self.context, model.as_deref(), row.id, &answer).await
    }
}

async fn find_message(
    context: &Context,
    conversation_id: ConversationId,
    id: MessageId,
) -> Result<MessageRow, ServiceError> {
    messages::find_message(&context.db, conversation_id, id).await?.ok_or(ServiceError::NoSuchMessage)
}

/// Returns the model that explains an answer: the one that wrote it, or the default. `None` if it cannot.
fn model_of(models: &PermittedModels, answer: &MessageRow) -> Option<Arc<Model>> {
    let own = answer.model.as_deref().and_then(|name| models.find(name));
    own.or_else(|| models.default_model().ok()).filter(|model| model.can_summarize())
}

/// Returns the lines, or none if the answer has no tool calls. Without a model, they are the names of the tools. The
/// model's tokens do not count toward the usage of the turn.
async fn explain(
    context: &Context,
    model: Option<&Model>,
    conversation_id: ConversationId,
    answer: &MessageRow,
) -> Result<Vec<String>, ServiceError> {
    let mut calls = tool_calls::list_tool_calls(&context.db, &[answer.id], MAX_SUMMED_CHARS).await?;
    if calls.is_empty() {
        return Ok(Vec::new());
    }
    let plain = names(&calls);
    let Some(model) = model else { return Ok(plain) };
    calls.truncate(MAX_SUMMED_CALLS);
    let question = match answer.parent_id {
        Some(id) => messages::find_message(&context.db, conversation_id, id).await?.map(|question| question.content),
        None => None,
    }
    .unwrap_or_default();
    let asked = ask(context, model, &question, answer, &calls);
    let lines = context.draining.run_until_cancelled(Box::pin(asked)).await.flatten();
    Ok(lines.filter(|lines| !lines.is_empty()).unwrap_or(plain))
}

/// Asks the model for the lines. Returns `None` if it fails. The model call is stored in both cases.
async fn ask(
    context: &Context,
    model: &Model,
    question: &str,
    answer: &MessageRow,
    calls: &[ToolCallRow],
) -> Option<Vec<String>> {
    let summed: Vec<SummaryCall<'_>> = calls.iter().map(summed).collect();
    let asked = explain_reasoning(model.client(), question, &summed, &answer.content).await;
    let SideCall { text, call } =
        asked.inspect_err(|error| tracing::error!(%error, "the prompt for a summary could not be built")).ok()?;
    if let Err(error) = side_call::record(context, answer.id, &call).await {
        tracing::warn!(%error, "the usage of a summary's model call could not be stored");
    }
    text.inspect_err(|error| tracing::info!(%error, "the summary lists tool names, because the model call failed"))
        .ok()
        .map(|text| reasoning_lines(&text))
}

fn summed(call: &ToolCallRow) -> SummaryCall<'_> {
    let result = call.output.as_deref().or(call.error.as_deref()).unwrap_or_default();
    SummaryCall { tool: &call.tool_name, input: &call.input_text, status: call.status.as_str(), result }
}

/// Returns lines that name the called tools, with the number of calls and of failures, at most `MAX_REASONING_LINES`.
/// The result depends only on the calls. Open calls do not count, because they have no result yet.
fn names(calls: &[ToolCallRow]) -> Vec<String> {
    let mut order = Vec::new();
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for call in calls.iter().filter(|call| !call.status.is_open()) {
        let (all, failed) = counts.entry(&call.tool_name).or_insert_with(|| {
            order.push(call.tool_name.as_str());
            (0, 0)
        });
        *all += 1;
        *failed += usize::from(call.status != ToolCallStatus::Success);
    }
    let line = |name: &&str| match counts.get(name).copied().unwrap_or_default() {
        (1, 0) => format!("Called {name}."),
        (1, _) => format!("Called {name}, which failed."),
        (all, 0) => format!("Called {name} {all} times."),
        (all, failed) => format!("Called {name} {all} times, {failed} of which failed."),
    };
    if order.len() <= MAX_REASONING_LINES {
        return order.iter().map(line).collect();
    }
    let (shown, rest) = order.split_at(MAX_REASONING_LINES - 1);
    let rest = format!("Called {} other tools.", rest.len());
    shown.iter().map(line).chain([rest]).collect()
}
