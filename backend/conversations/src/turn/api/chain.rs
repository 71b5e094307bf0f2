//! Stored responses, which later requests of an API client can continue by their IDs. Stores the new input of each
//! request, builds the context for a request from the chain of earlier responses, and finds and deletes responses. Each
//! response stores only its own new input, so a chain takes no more space than one conversation.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use tallybook_agent::{CLIENT_CALLS, Limits};
use tallybook_database::Transaction;
use tallybook_llm::{AssistantBlock, ModelMessage, ToolResult};
use tallybook_protocol::{MessageId, MessageStatus, Usage, first_chars};

use crate::{
    ServiceError,
    context::Context,
    limits::MAX_CHAIN,
    service::ConversationService,
    store::{
        api_clients::ApiClient,
        messages, model_calls,
        responses::{self, ResponseRow},
        rows::{MessageRow, ModelCallRow, ToolCallRow},
    },
    turn::{
        api::{
            client_calls::{ClientCall, client_calls_of, open_calls},
            client_input::ClientInput,
            restore::{is_asking, name_results, stored_bytes},
        },
        context::history::{push_turn, read_calls},
    },
};

/// New input of a request, as it is stored.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ResponseInput {
    /// System prompts, which follow the agent's own prompt. They also apply to all later responses of the chain.
    pub system: Vec<String>,
    /// New messages, up to and including the question, or the results of calls.
    pub messages: Vec<ModelMessage>,
}

/// The link of a request to a previous response, and to requests that may continue it later.
#[derive(Clone, Debug, Default)]
pub struct Chaining {
    /// The response that the request continues.
    pub previous: Option<MessageId>,
    /// New input of the request, if later requests may continue its answer.
    pub kept: Option<ResponseInput>,
}

/// A stored response, which a later request can continue.
#[derive(Clone, Debug)]
pub struct StoredResponse {
    /// ID of the answer.
    pub message_id: MessageId,
    /// The response that this one continues.
    pub previous: Option<MessageId>,
    /// Catalog name of the model that answered.
    pub model: Option<String>,
    /// Time at which the answer began.
    pub created_at: DateTime<Utc>,
    /// Text of the answer.
    pub content: String,
    /// Status of the answer.
    pub status: MessageStatus,
    /// Reason why the answer ended.
    pub stop_reason: Option<String>,
    /// Error message and stable error code, if the answer has an error.
    pub error: Option<(String, String)>,
    /// Token usage and cost.
    pub usage: Usage,
    /// Tool calls at the end of the answer that the client is to run.
    pub calls: Vec<ClientCall>,
}

/// Context that precedes a request's own input.
pub(crate) struct PreviousContext {
    /// The response that the request continues.
    pub(crate) previous: ResponseRow,
    pub(crate) system: Vec<String>,
    pub(crate) messages: Vec<ModelMessage>,
}

impl ResponseInput {
    /// Returns `true` if the input begins with results of the previous answer's tool calls.
    fn begins_with_results(&self) -> bool {
        matches!(self.messages.first(), Some(ModelMessage::ToolResults(_)))
    }

    /// Stores the new input of a request that continues `previous`, so that later requests may continue its answer
    /// `message_id`.
    pub(crate) async fn store(
        &self,
        tx: &mut Transaction,
        api_client: ApiClient,
        message_id: MessageId,
        previous: Option<MessageId>,
    ) -> sqlx::Result<()> {
        let json = serde_json::to_string(self).map_err(|error| sqlx::Error::Encode(error.into()))?;
        responses::create(tx, api_client, message_id, previous, &json).await
    }
}

/// Builds the context for a request with a previous response: the input and output of each response in the chain,
/// newest last. The chain is truncated from the front to `limits.restored_bytes`, but always contains the last turn.
/// The client's tool calls appear as the client received them.
pub(crate) async fn load_previous(
    context: &Context,
    api_client: ApiClient,
    previous: MessageId,
) -> Result<PreviousContext, ServiceError> {
    let links = read_chain(context, api_client, previous).await?;
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
        let ResponseInput { system: mut new, messages: mut turn } = input;
        system.append(&mut new);
        if let Some(message) = messages.get(&row.message_id) {
            turn.append(&mut answer(message, &steps, &calls, limits));
        }
        // An input that begins with results belongs to the same turn as the calls.
        match turns.last_mut().filter(|_| !begins) {
            Some(last) => last.append(&mut turn),
            None => turns.push(turn),
        }
        last = Some(row);
    }
    let previous = last.ok_or(ServiceError::NoSuchResponse)?;
    Ok(PreviousContext { previous, system, messages: newest_within(turns, limits.restored_bytes) })
}

/// Returns the messages of the newest turns that together take at most `room` bytes as they are stored. The last turn
/// is always included.
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

/// Returns the chain of responses that ends with `previous`, oldest first. The first response does not begin with
/// results of calls. Fails if `previous` does not exist, or if the chain has no such first response.
async fn read_chain(
    context: &Context,
    api_client: ApiClient,
    previous: MessageId,
) -> Result<Vec<(ResponseRow, ResponseInput)>, ServiceError> {
    let room = context.agent.limits().restored_bytes;
    let mut links = Vec::new();
    let (mut bytes, mut next) = (0usize, Some(previous));
    while let Some(id) = next.filter(|_| links.len() < MAX_CHAIN) {
        let Some(row) = responses::find(&context.db, api_client, id).await? else { break };
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
        let advice = "The chain of previous responses is incomplete or too long. Start a new chain without previous_response_id.";
        return Err(ServiceError::Invalid(advice.to_owned()));
    };
    links.drain(..begin);
    Ok(links)
}

/// Puts the context of the previous response before the input of a request. Also returns that response. Fails if the
/// request has a result for a call that the response did not request, or has no results although the response requested
/// calls.
pub(crate) fn prepend_context(
    previous_context: PreviousContext,
    input: ClientInput,
) -> Result<(ClientInput, ResponseRow), ServiceError> {
    let PreviousContext { previous, mut system, mut messages } = previous_context;
    let asked: Vec<String> = match messages.last() {
        Some(ModelMessage::Assistant(blocks)) if is_asking(blocks) => call_ids(blocks).map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let given: &[ToolResult] = match input.messages.first() {
        Some(ModelMessage::ToolResults(results)) => results,
        _ => &[],
    };
    if let Some(stray) = given.iter().find(|result| !asked.contains(&result.call_id)) {
        let id: String = first_chars(&stray.call_id, 100).to_owned();
        let advice = format!("The previous response did not request the call \"{id}\". Leave its result out.");
        return Err(ServiceError::Invalid(advice));
    }
    if given.is_empty() && !asked.is_empty() {
        let ids = asked.join(", ");
        let advice = format!("The previous response requested tool calls. Send their results first: {ids}.");
        return Err(ServiceError::Invalid(advice));
    }
    if !matches!(messages.first(), Some(ModelMessage::User(_))) {
        // Providers require that a user message comes first.
        messages.insert(0, ModelMessage::User(Vec::new()));
    }
    system.extend(input.system);
    messages.extend(input.messages);
    name_results(&mut messages);
    Ok((ClientInput { messages, system, ..input }, previous))
}

fn call_ids(blocks: &[AssistantBlock]) -> impl Iterator<Item = &str> {
    blocks.iter().filter_map(AssistantBlock::tool_call).map(|call| call.id.as_str())
}

/// Returns an answer as messages for the model. If it ended with calls for the client, it consists of its text and
/// these calls.
fn answer(message: &MessageRow, steps: &[ModelCallRow], calls: &[ToolCallRow], limits: Limits) -> Vec<ModelMessage> {
    let steps = steps.iter().filter(|step| step.message_id == message.id);
    let calls = calls.iter().filter(|call| call.message_id == message.id);
    if message.stop_reason.as_deref() != Some(CLIENT_CALLS) {
        let mut turn = Vec::new();
        push_turn(message, steps, calls, false, limits, &mut turn);
        return turn;
    }
    let (steps, calls): (Vec<_>, Vec<_>) = (steps.cloned().collect(), calls.cloned().collect());
    let text = Some(message.content.clone()).filter(|text| !text.is_empty());
    let mut blocks: Vec<AssistantBlock> = text.into_iter().map(|text| AssistantBlock::Text { text }).collect();
    let theirs = open_calls(&steps, &calls).map(|open| client_calls_of(message.id, open)).unwrap_or_default();
    blocks.extend(theirs.into_iter().map(|call| AssistantBlock::ToolCall(call.into())));
    vec![ModelMessage::Assistant(blocks)]
}

impl ConversationService {
    /// Finds a response that an API client can continue. Fails with `NoSuchResponse` if it does not exist.
    pub async fn find_response(
        &self,
        api_client: ApiClient,
        message_id: MessageId,
    ) -> Result<StoredResponse, ServiceError> {
        let db = &self.context.db;
        let row = responses::find(db, api_client, message_id).await?.ok_or(ServiceError::NoSuchResponse)?;
        let found = messages::find_message(db, row.conversation_id, message_id).await?;
        let message = found.ok_or(ServiceError::NoSuchResponse)?;
        let calls = if message.stop_reason.as_deref() == Some(CLIENT_CALLS) {
            self.list_client_calls(api_client.user, row.uuid, message_id).await?
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

    /// Deletes a stored response, so that no request can continue it. The conversation is kept.
    pub async fn delete_response(&self, api_client: ApiClient, message_id: MessageId) -> Result<(), ServiceError> {
        let db = &self.context.db;
        responses::find(db, api_client, message_id).await?.ok_or(ServiceError::NoSuchResponse)?;
        Ok(responses::delete(db, message_id).await?)
    }
}
