//! Restores turns whose last step called the API client's own tools. In the client's history, replaces each such turn
//! with all of its stored steps, and adds the client's results to the results of the server's tools. So the model
//! continues where it was, and no call that ran on the server runs again.

use std::collections::{HashMap, HashSet};

use tallybook_llm::{AssistantBlock, ModelMessage, ToolResult};
use tallybook_protocol::{MessageId, first_chars};

use crate::{
    ServiceError,
    context::Context,
    limits::MAX_RESTORED_TURNS,
    store::{
        api_clients::{self, AnswerRef, ApiClient},
        model_calls, tool_calls,
    },
    turn::{
        api::client_calls::{ClientCallId, ID_BEGIN, open_calls},
        context::history::steps_of,
    },
};

/// History of an API client's request after restoring, and the turn that the request continues.
pub(crate) struct Restored {
    pub(crate) messages: Vec<ModelMessage>,
    /// The turn that the new answer continues, for the same question: its results are the last messages. `None` if
    /// other messages follow.
    pub(crate) answered: Option<AnswerRef>,
}

/// Replaces the client's messages about its tool calls with the stored steps. The last such turn is always restored,
/// because its results may be the ones to continue with. Earlier ones are restored, newest first, while the bytes that
/// this adds fit in `limits.restored_bytes`. Older turns stay as the client sent them.
pub(crate) async fn restore(
    context: &Context,
    api_client: ApiClient,
    messages: Vec<ModelMessage>,
) -> Result<Restored, ServiceError> {
    let mut turns = restore_newest(context, api_client, &messages).await?;
    let mut restored = Vec::new();
    let mut answered = None;
    let mut messages = messages.into_iter().enumerate().peekable();
    while let Some((at, message)) = messages.next() {
        answered = None;
        let Some((place, mut steps)) = turns.remove(&at) else {
            restored.push(message);
            continue;
        };
        // The steps contain the results.
        messages.next_if(|(_, next)| matches!(next, ModelMessage::ToolResults(_)));
        restored.append(&mut steps);
        answered = Some(place);
    }
    Ok(Restored { messages: restored, answered })
}

/// Sets missing tool names of results to those of the preceding calls. Clients may send only the IDs of the calls.
pub(crate) fn name_results(messages: &mut [ModelMessage]) {
    let mut calls: HashMap<String, String> = HashMap::new();
    for message in messages {
        match message {
            ModelMessage::User(_) => {}
            ModelMessage::Assistant(blocks) => {
                let asked = blocks.iter().filter_map(AssistantBlock::tool_call);
                calls = asked.map(|call| (call.id.clone(), call.name.clone())).collect();
            }
            ModelMessage::ToolResults(results) => {
                for result in results.iter_mut().filter(|result| result.tool_name.is_empty()) {
                    result.tool_name = calls.remove(&result.call_id).unwrap_or_default();
                }
            }
        }
    }
}

/// Turns and their stored steps, by the index of the message that they replace.
type RestoredTurns = HashMap<usize, (AnswerRef, Vec<ModelMessage>)>;

async fn restore_newest(
    context: &Context,
    api_client: ApiClient,
    messages: &[ModelMessage],
) -> Result<RestoredTurns, ServiceError> {
    let last_question = messages.iter().rposition(|message| matches!(message, ModelMessage::User(_)));
    let asking = (0..messages.len()).rev().filter(|&at| has_client_calls(&messages[at]));
    let asking: Vec<usize> = asking.take(MAX_RESTORED_TURNS).collect();
    let mut room = context.agent.limits().restored_bytes;
    let mut turns = RestoredTurns::new();
    let mut seen = HashSet::new();
    for at in asking {
        let ModelMessage::Assistant(blocks) = &messages[at] else { continue };
        let results: &[ToolResult] = match messages.get(at + 1) {
            Some(ModelMessage::ToolResults(results)) => results,
            _ => &[],
        };
        let is_current = last_question.is_none_or(|question| question < at);
        let (place, steps) = restore_turn(context, api_client, blocks, results, is_current).await?;
        if !seen.insert(place.message_id) {
            let advice = "A step appears twice in messages. Send each answer and the results of its calls once.";
            return Err(ServiceError::Invalid(advice.to_owned()));
        }
        let sent = &messages[at..=at + usize::from(!results.is_empty())];
        let added = stored_bytes(&steps).saturating_sub(stored_bytes(sent));
        if added > room && !turns.is_empty() {
            break;
        }
        room = room.saturating_sub(added);
        turns.insert(at, (place, steps));
    }
    Ok(turns)
}

/// Returns the size of messages in bytes, as they are stored with the turn (JSON).
pub(crate) fn stored_bytes(messages: &[ModelMessage]) -> usize {
    serde_json::to_vec(messages).map_or(usize::MAX, |json| json.len())
}

fn has_client_calls(message: &ModelMessage) -> bool {
    matches!(message, ModelMessage::Assistant(blocks) if is_asking(blocks))
}

/// Returns `true` if the blocks contain calls that the client is to run.
pub(crate) fn is_asking(blocks: &[AssistantBlock]) -> bool {
    blocks.iter().filter_map(AssistantBlock::tool_call).any(|call| call.id.starts_with(ID_BEGIN))
}

/// Returns the turn that the calls in `blocks` belong to, and its stored steps. Opaque blocks, such as reasoning, are
/// kept only if the turn is still the current one. Fails if a call is unknown, or if the result of a call is missing.
async fn restore_turn(
    context: &Context,
    api_client: ApiClient,
    blocks: &[AssistantBlock],
    results: &[ToolResult],
    is_current: bool,
) -> Result<(AnswerRef, Vec<ModelMessage>), ServiceError> {
    let (message_id, step, mut given) = place_of(blocks, results)?;
    let place = api_clients::find_answer(&context.db, api_client, message_id).await?;
    let place = place.ok_or_else(|| unknown(blocks))?;
    let records = model_calls::list_model_calls(&context.db, &[message_id]).await?;
    let rows = tool_calls::list_tool_calls(&context.db, &[message_id], 0).await?;
    let (last, stored, open) = open_calls(&records, &rows).ok_or_else(|| unknown(blocks))?;
    if last != step || given.keys().any(|position| !open.contains(position)) {
        return Err(unknown(blocks));
    }
    let mut results = HashMap::new();
    for (position, call) in stored.iter().filter_map(AssistantBlock::tool_call).enumerate() {
        if !open.contains(&position) {
            continue;
        }
        let Some(result_text) = given.remove(&position) else {
            let id = ClientCallId { message_id, step, position };
            let advice = format!("The result of the call \"{id}\" is missing. Send it together with the others.");
            return Err(ServiceError::Invalid(advice));
        };
        results.insert(call.id.clone(), result_text);
    }
    let mut steps = steps_of(context, place.conversation_id, message_id).await?;
    if let Some(ModelMessage::ToolResults(stored)) = steps.last_mut() {
        for result in stored {
            if let Some(result_text) = results.remove(&result.call_id) {
                (result.content, result.is_error) = (result_text, false);
            }
        }
    }
    if !is_current {
        for step in &mut steps {
            if let ModelMessage::Assistant(blocks) = step {
                blocks.retain(|block| !matches!(block, AssistantBlock::Opaque { .. }));
            }
        }
    }
    Ok((place, steps))
}

/// Returns the turn and the step that all results belong to, and the results by the positions of their calls. Fails if
/// `results` is empty, or if the results belong to several steps.
fn place_of(
    blocks: &[AssistantBlock],
    results: &[ToolResult],
) -> Result<(MessageId, i32, HashMap<usize, String>), ServiceError> {
    let mut given = HashMap::new();
    let mut place = None;
    for result in results {
        let id: ClientCallId = result.call_id.parse().map_err(|()| unknown(blocks))?;
        let (message_id, step) = *place.get_or_insert((id.message_id, id.step));
        if (message_id, step) != (id.message_id, id.step) {
            return Err(unknown(blocks));
        }
        given.insert(id.position, result.content.clone());
    }
    let (message_id, step) = place.ok_or_else(|| unknown(blocks))?;
    Ok((message_id, step, given))
}

/// Returns the error for calls that do not exist, belong to another client, or were never sent to this one. It is
/// always the same, so that guessing IDs reveals nothing.
fn unknown(blocks: &[AssistantBlock]) -> ServiceError {
    let ids = blocks.iter().filter_map(AssistantBlock::tool_call).map(|call| call.id.as_str());
    let ids = ids.collect::<Vec<_>>().join(", ");
    let ids = first_chars(&ids, 200);
    ServiceError::Invalid(format!(
        "No answer contains these calls together: {ids}. The conversation may have been deleted. Leave out the \
         message that requests them, and their results."
    ))
}
