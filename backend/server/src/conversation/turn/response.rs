//! Answers that a program can go on from by their ids: what is kept of what it told each of them, what a request that goes on
//! from one is told before its own input, and one of them as it is stored. Each keeps what was new in it alone, so a chain of
//! them costs no more than one conversation.

use std::collections::HashMap;
use tallybook_database::Transaction;

use chrono::{DateTime, Utc};
use tallybook_agent::{CLIENT_CALLS, Limits};
use tallybook_llm::{AssistantBlock, ModelMessage, ToolResult};
use tallybook_protocol::{MessageId, MessageStatus, Usage};

use super::{
    super::{
        ServiceError,
        context::Context,
        limits::MAX_CHAIN,
        service::ConversationService,
        store::{
            messages, model_calls,
            programs::Program,
            responses::{self, ResponseRow},
            rows::{MessageRow, ModelCallRow, ToolCallRow},
        },
    },
    client_calls::{ClientCall, client_calls_of, open_calls},
    given::GivenInput,
    history::{push_turn, read_calls},
    restored::{is_asking, name_results, stored_bytes},
};

/// What was new in a request, as it is kept.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ResponseInput {
    /// What the model was told after the agent's own prompt, and is told from then on.
    pub system: Vec<String>,
    /// Up to and including the question, or the results of calls.
    pub messages: Vec<ModelMessage>,
}

/// What a request goes on from, and whether it can be gone on from itself.
#[derive(Clone, Debug, Default)]
pub struct Chaining {
    /// The answer that it goes on from.
    pub previous: Option<MessageId>,
    /// What was new in it, where others may go on from it.
    pub kept: Option<ResponseInput>,
}

/// An answer that can be gone on from, as it is stored.
#[derive(Clone, Debug)]
pub struct StoredResponse {
    /// The answer.
    pub message_id: MessageId,
    /// What it went on from.
    pub previous: Option<MessageId>,
    /// The catalog's name of the model that answered.
    pub model: Option<String>,
    /// When it began.
    pub created_at: DateTime<Utc>,
    /// Its text.
    pub content: String,
    /// How far it is.
    pub status: MessageStatus,
    /// Why it ended.
    pub stop_reason: Option<String>,
    /// Why it failed, and the stable name of that.
    pub error: Option<(String, String)>,
    /// What it cost.
    pub usage: Usage,
    /// The calls that it ended with, which are its program's to run.
    pub calls: Vec<ClientCall>,
}

/// What comes before a request's own input.
pub(super) struct Before {
    /// The answer that it goes on from.
    pub(super) previous: ResponseRow,
    pub(super) system: Vec<String>,
    pub(super) messages: Vec<ModelMessage>,
}

impl ResponseInput {
    /// Whether it goes on with the results of calls of the answer before.
    fn begins_with_results(&self) -> bool {
        matches!(self.messages.first(), Some(ModelMessage::ToolResults(_)))
    }
}

impl Chaining {
    /// Keeps what was new in a request that is answered by this message.
    pub(super) async fn store(
        &self,
        tx: &mut Transaction,
        program: Program,
        message_id: MessageId,
    ) -> sqlx::Result<()> {
        let Some(kept) = &self.kept else { return Ok(()) };
        let json = serde_json::to_string(kept).map_err(|error| sqlx::Error::Encode(error.into()))?;
        responses::create(tx, program, message_id, self.previous, &json).await
    }
}

/// What is told before the input of a request that goes on from an answer: what each answer of its chain was told, and said,
/// as much of its end as `limits.restored_bytes` has room for. The calls of a program's stand in it as it was told of them.
pub(super) async fn told_before(
    context: &Context,
    program: Program,
    previous: MessageId,
) -> Result<Before, ServiceError> {
    let links = read_chain(context, program, previous).await?;
    let ids: Vec<MessageId> = links.iter().map(|(row, _)| row.message_id).collect();
    let steps = model_calls::list_model_calls(&context.db, &ids).await?;
    let calls = read_calls(context, &ids).await?;
    let messages = messages::list_messages(&context.db, &ids).await?;
    let messages: HashMap<MessageId, MessageRow> = messages.into_iter().map(|row| (row.id, row)).collect();
    let limits = context.agent.limits();
    let (mut system, mut turns) = (Vec::new(), Vec::<Vec<ModelMessage>>::new());
    let mut last = None;
    for (row, input) in links {
        let begins = !input.begins_with_results();
        let ResponseInput { system: mut new, messages: mut told } = input;
        system.append(&mut new);
        if let Some(message) = messages.get(&row.message_id) {
            told.append(&mut answer(message, &steps, &calls, limits));
        }
        // What goes on with results is told together with what asked for them.
        match turns.last_mut().filter(|_| !begins) {
            Some(turn) => turn.append(&mut told),
            None => turns.push(told),
        }
        last = Some(row);
    }
    let previous = last.ok_or(ServiceError::NoSuchResponse)?;
    Ok(Before { previous, system, messages: newest_within(turns, limits.restored_bytes) })
}

/// The newest turns that together take at most `room` bytes as they are stored; always the last one.
fn newest_within(mut turns: Vec<Vec<ModelMessage>>, room: usize) -> Vec<ModelMessage> {
    let mut bytes = 0usize;
    let kept = turns.iter().rev().take_while(|turn| {
        bytes = bytes.saturating_add(stored_bytes(turn));
        bytes <= room
    });
    let kept = kept.count().max(1);
    turns.drain(..turns.len().saturating_sub(kept));
    turns.into_iter().flatten().collect()
}

/// The answers up to `previous`, each of which went on from the one before, oldest first and beginning with one that went on
/// with no results.
async fn read_chain(
    context: &Context,
    program: Program,
    previous: MessageId,
) -> Result<Vec<(ResponseRow, ResponseInput)>, ServiceError> {
    let room = context.agent.limits().restored_bytes;
    let mut links = Vec::new();
    let (mut bytes, mut next) = (0usize, Some(previous));
    while let Some(id) = next.filter(|_| links.len() < MAX_CHAIN) {
        let Some(row) = responses::find(&context.db, program, id).await? else { break };
        let input: ResponseInput =
            serde_json::from_str(&row.input).map_err(|error| sqlx::Error::Decode(error.into()))?;
        bytes = bytes.saturating_add(row.input.len());
        next = row.previous_id.filter(|_| input.begins_with_results() || bytes <= room);
        links.push((row, input));
    }
    links.reverse();
    if links.is_empty() {
        return Err(ServiceError::NoSuchResponse);
    }
    let Some(begin) = links.iter().position(|(_, input)| !input.begins_with_results()) else {
        let advice =
            "The responses that this one goes on from are gone, or too many. Begin anew without previous_response_id.";
        return Err(ServiceError::Invalid(advice.to_owned()));
    };
    links.drain(..begin);
    Ok(links)
}

/// What a model is told of what a request goes on from, and of the request; and the answer that it goes on from. What that asks
/// the program for is told with its results.
pub(super) fn put_before(
    before: Option<Before>,
    input: GivenInput,
) -> Result<(GivenInput, Option<ResponseRow>), ServiceError> {
    let Some(Before { previous, mut system, mut messages }) = before else { return Ok((input, None)) };
    let asked: Vec<String> = match messages.last() {
        Some(ModelMessage::Assistant(blocks)) if is_asking(blocks) => call_ids(blocks).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let given: &[ToolResult] = match input.messages.first() {
        Some(ModelMessage::ToolResults(results)) => results,
        _ => &[],
    };
    if let Some(stray) = given.iter().find(|result| !asked.contains(&result.call_id)) {
        let id: String = stray.call_id.chars().take(100).collect();
        let advice =
            format!("The response that this one goes on from asks for no call \"{id}\". Leave its result out.");
        return Err(ServiceError::Invalid(advice));
    }
    if given.is_empty() && !asked.is_empty() {
        let ids = asked.join(", ");
        let advice =
            format!("The response that this one goes on from asks for calls. Send their results first: {ids}.");
        return Err(ServiceError::Invalid(advice));
    }
    if !matches!(messages.first(), Some(ModelMessage::User(_))) {
        // Providers want a person to begin.
        messages.insert(0, ModelMessage::User(Vec::new()));
    }
    system.extend(input.system);
    messages.extend(input.messages);
    name_results(&mut messages);
    Ok((GivenInput { messages, system, ..input }, Some(previous)))
}

fn call_ids(blocks: &[AssistantBlock]) -> impl Iterator<Item = &str> {
    blocks.iter().filter_map(AssistantBlock::tool_call).map(|call| call.id.as_str())
}

/// What a model is told of an answer.
fn answer(message: &MessageRow, steps: &[ModelCallRow], calls: &[ToolCallRow], limits: Limits) -> Vec<ModelMessage> {
    let steps = steps.iter().filter(|step| step.message_id == message.id);
    let calls = calls.iter().filter(|call| call.message_id == message.id);
    if message.stop_reason.as_deref() != Some(CLIENT_CALLS) {
        let mut told = Vec::new();
        push_turn(message, steps, calls, false, limits, &mut told);
        return told;
    }
    let (steps, calls): (Vec<_>, Vec<_>) = (steps.cloned().collect(), calls.cloned().collect());
    let text = Some(message.content.clone()).filter(|text| !text.is_empty());
    let mut blocks: Vec<AssistantBlock> = text.into_iter().map(|text| AssistantBlock::Text { text }).collect();
    let theirs = open_calls(&steps, &calls).map(|open| client_calls_of(message.id, open)).unwrap_or_default();
    blocks.extend(theirs.into_iter().map(|call| AssistantBlock::ToolCall(call.into())));
    vec![ModelMessage::Assistant(blocks)]
}

impl ConversationService {
    /// One of a program's answers that it can go on from.
    pub async fn find_response(&self, program: Program, message_id: MessageId) -> Result<StoredResponse, ServiceError> {
        let db = &self.context.db;
        let row = responses::find(db, program, message_id).await?.ok_or(ServiceError::NoSuchResponse)?;
        let found = messages::find_message(db, row.conversation_id, message_id).await?;
        let message = found.ok_or(ServiceError::NoSuchResponse)?;
        let calls = if message.stop_reason.as_deref() == Some(CLIENT_CALLS) {
            self.list_client_calls(program.user, row.uuid, message_id).await?
        } else {
            Vec::new()
        };
        Ok(StoredResponse {
            message_id,
            previous: row.previous_id,
            model: message.model,
            created_at: message.created_at,
            content: message.content,
            status: message.status,
            stop_reason: message.stop_reason,
            error: message.error.zip(message.error_code),
            usage: model_calls::find_usage(db, message_id).await?,
            calls,
        })
    }

    /// Has a program go on from one of its answers no more. The conversation stays.
    pub async fn delete_response(&self, program: Program, message_id: MessageId) -> Result<(), ServiceError> {
        let db = &self.context.db;
        responses::find(db, program, message_id).await?.ok_or(ServiceError::NoSuchResponse)?;
        Ok(responses::delete(db, message_id).await?)
    }
}
