//! What a program tells of turns whose last step had calls of its own tools: in place of what it was shown of such a turn
//! stand all stored steps of it, with the program's results beside ours. So the model goes on where it was, and nothing that
//! ran here runs again.

use std::collections::{HashMap, HashSet};

use tallybook_llm::{AssistantBlock, ModelMessage, ToolResult};
use tallybook_protocol::MessageId;

use super::{
    super::{
        ServiceError,
        context::Context,
        limits::MAX_RESTORED_TURNS,
        store::{
            model_calls,
            programs::{self, AnswerPlace, Program},
            tool_calls,
        },
    },
    client_calls::{ClientCallId, ID_BEGIN, open_calls},
    history::steps_of,
};

/// The history of a program's request, and the turn that it goes on with.
pub(super) struct Restored {
    pub(super) messages: Vec<ModelMessage>,
    /// The turn whose results come last: its question is the one that is answered.
    pub(super) goes_on: Option<AnswerPlace>,
}

/// Puts stored steps in the place of what the program tells of its calls, in the newest turns first: always in the last one,
/// whose results may be those to go on with, and in those before it while what that adds has room in `limits.restored_bytes`.
/// Older turns stay as the program tells them.
pub(super) async fn restore(
    context: &Context,
    program: Program,
    messages: Vec<ModelMessage>,
) -> Result<Restored, ServiceError> {
    let mut turns = restore_newest(context, program, &messages).await?;
    let mut told = Vec::new();
    let mut goes_on = None;
    let mut messages = messages.into_iter().enumerate().peekable();
    while let Some((at, message)) = messages.next() {
        goes_on = None;
        let Some((place, mut steps)) = turns.remove(&at) else {
            told.push(message);
            continue;
        };
        // The results stand among the steps.
        messages.next_if(|(_, next)| matches!(next, ModelMessage::ToolResults(_)));
        told.append(&mut steps);
        goes_on = Some(place);
    }
    Ok(Restored { messages: told, goes_on })
}

/// Gives results the names of the tools whose calls they are of, where whoever told of them knew no more than the calls' ids.
pub(super) fn name_results(messages: &mut [ModelMessage]) {
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

/// Turns and their stored steps, by where the program tells of them.
type RestoredTurns = HashMap<usize, (AnswerPlace, Vec<ModelMessage>)>;

async fn restore_newest(
    context: &Context,
    program: Program,
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
        let (place, steps) = restore_turn(context, program, blocks, results, is_current).await?;
        if !seen.insert(place.message_id) {
            let advice = "A step is told of twice in messages. Tell each answer and the results of its calls once.";
            return Err(ServiceError::Invalid(advice.to_owned()));
        }
        let told = &messages[at..=at + usize::from(!results.is_empty())];
        let added = stored_bytes(&steps).saturating_sub(stored_bytes(told));
        if added > room && !turns.is_empty() {
            break;
        }
        room = room.saturating_sub(added);
        turns.insert(at, (place, steps));
    }
    Ok(turns)
}

/// Bytes of messages as they are stored with the turn.
pub(super) fn stored_bytes(messages: &[ModelMessage]) -> usize {
    serde_json::to_vec(messages).map_or(usize::MAX, |json| json.len())
}

fn has_client_calls(message: &ModelMessage) -> bool {
    matches!(message, ModelMessage::Assistant(blocks) if is_asking(blocks))
}

/// Whether the program is asked to run calls.
pub(super) fn is_asking(blocks: &[AssistantBlock]) -> bool {
    blocks.iter().filter_map(AssistantBlock::tool_call).any(|call| call.id.starts_with(ID_BEGIN))
}

/// The stored steps of the turn that the calls in `blocks` belong to. What its model thought is told to it only while the turn
/// goes on.
async fn restore_turn(
    context: &Context,
    program: Program,
    blocks: &[AssistantBlock],
    results: &[ToolResult],
    is_current: bool,
) -> Result<(AnswerPlace, Vec<ModelMessage>), ServiceError> {
    let (message_id, step, mut given) = place_of(blocks, results)?;
    let place = programs::find_answer(&context.db, program, message_id).await?;
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
        let Some(words) = given.remove(&position) else {
            let id = ClientCallId { message_id, step, position };
            let advice = format!("The result of the call \"{id}\" is missing. Send it together with the others.");
            return Err(ServiceError::Invalid(advice));
        };
        results.insert(call.id.clone(), words);
    }
    let mut steps = steps_of(context, place.conversation_id, message_id).await?;
    if let Some(ModelMessage::ToolResults(told)) = steps.last_mut() {
        for result in told {
            if let Some(words) = results.remove(&result.call_id) {
                (result.content, result.is_error) = (words, false);
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

/// The turn and the step that all calls belong to, and the results by where their calls stand.
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

/// Said of all that is not there, is another's, or was never asked of the program: who guesses learns nothing.
fn unknown(blocks: &[AssistantBlock]) -> ServiceError {
    let ids = blocks.iter().filter_map(AssistantBlock::tool_call).map(|call| call.id.as_str());
    let ids: String = ids.collect::<Vec<_>>().join(", ").chars().take(200).collect();
    ServiceError::Invalid(format!(
        "There are no such calls of yours together in one answer: {ids}. The conversation may have been deleted. Leave the \
         message out that asks for them, and their results."
    ))
}
