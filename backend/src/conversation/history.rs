//! What a model is told of earlier turns: the same blocks it wrote, step by step, each call with its result. Stopped,
//! failed and interrupted turns give a valid history too.

use std::collections::BTreeMap;

use super::{
    model::{MessageRow, ModelCallRow, ToolCallRow},
    repository::calls::stored_id,
};
use crate::{
    agent::{Limits, error_json, success_json},
    llm::{AssistantBlock, ModelMessage, ToolCallRequest, ToolResult},
};

/// Told to the model of a call that has no result: the server or a person ended the turn while it ran.
const NO_RESULT: &str = "the call was interrupted; its outcome is unknown";

/// The messages of a branch as a model is told them: each result cut to `limits.model_output_bytes`, and the oldest
/// turns left out, whole ones only, until the rest fits into `limits.history_bytes`. A branch that ends in an answer is
/// that of a turn which goes on.
pub(super) fn history(
    branch: &[MessageRow],
    model_calls: &[ModelCallRow],
    tool_calls: &[ToolCallRow],
    limits: Limits,
) -> Vec<ModelMessage> {
    let last = branch.last().map(|message| message.id);
    let mut turns: Vec<Vec<ModelMessage>> = Vec::new();
    for message in branch {
        if message.is_user() {
            turns.push(vec![ModelMessage::User(message.content.clone())]);
        } else if let Some(turn) = turns.last_mut() {
            let model_calls = model_calls.iter().filter(|call| call.message_id == message.id);
            let tool_calls = tool_calls.iter().filter(|call| call.message_id == message.id);
            let goes_on = Some(message.id) == last;
            tell_turn(message, model_calls, tool_calls, goes_on, limits.model_output_bytes, turn);
        }
    }
    newest_within(turns, limits.history_bytes)
}

/// The newest turns that together have at most `budget` bytes; always the last one.
fn newest_within(mut turns: Vec<Vec<ModelMessage>>, budget: usize) -> Vec<ModelMessage> {
    let mut bytes = 0usize;
    let kept = turns.iter().rev().take_while(|turn| {
        bytes = turn.iter().map(message_bytes).fold(bytes, usize::saturating_add);
        bytes <= budget
    });
    let kept = kept.count().max(1);
    turns.drain(..turns.len().saturating_sub(kept));
    turns.into_iter().flatten().collect()
}

fn message_bytes(message: &ModelMessage) -> usize {
    match message {
        ModelMessage::User(text) => text.len(),
        ModelMessage::Assistant(blocks) => blocks.iter().map(block_bytes).sum(),
        ModelMessage::ToolResults(results) => results.iter().map(|result| result.content.len()).sum(),
    }
}

fn block_bytes(block: &AssistantBlock) -> usize {
    match block {
        AssistantBlock::Text { text } => text.len(),
        AssistantBlock::ToolCall(call) => call.name.len() + call.input_text.len(),
        AssistantBlock::Opaque { json, .. } => json.len(),
    }
}

fn tell_turn<'a>(
    message: &MessageRow,
    model_calls: impl Iterator<Item = &'a ModelCallRow>,
    tool_calls: impl Iterator<Item = &'a ToolCallRow>,
    goes_on: bool,
    limit: usize,
    history: &mut Vec<ModelMessage>,
) {
    let mut steps: BTreeMap<i32, (Vec<AssistantBlock>, Vec<&ToolCallRow>)> = BTreeMap::new();
    for call in model_calls {
        steps.entry(call.step).or_default().0 = call.blocks();
    }
    for call in tool_calls {
        steps.entry(call.step).or_default().1.push(call);
    }
    let mut told_bytes = 0;
    for (mut blocks, calls) in steps.into_values() {
        told_bytes += blocks.iter().map(text_bytes).sum::<usize>();
        // Blocks that cannot be read leave the calls' own rows.
        if !blocks.iter().any(|block| block.tool_call().is_some()) {
            blocks.extend(calls.iter().map(|call| AssistantBlock::ToolCall(request(call))));
        }
        if !goes_on {
            // Opaque blocks count within their own turn only.
            blocks.retain(|block| !matches!(block, AssistantBlock::Opaque { .. }));
        }
        let results: Vec<ToolResult> = blocks.iter().filter_map(|block| result(block, &calls, limit)).collect();
        if !blocks.is_empty() {
            history.push(ModelMessage::Assistant(blocks));
        }
        if !results.is_empty() {
            history.push(ModelMessage::ToolResults(results));
        }
    }
    let rest = message.content.get(told_bytes..).unwrap_or_default();
    if !rest.is_empty() {
        history.push(ModelMessage::Assistant(vec![AssistantBlock::Text { text: rest.to_owned() }]));
    }
}

/// How much of the answer's text a block is.
pub(super) fn text_bytes(block: &AssistantBlock) -> usize {
    match block {
        AssistantBlock::Text { text } => text.len(),
        AssistantBlock::ToolCall(_) | AssistantBlock::Opaque { .. } => 0,
    }
}

fn request(call: &ToolCallRow) -> ToolCallRequest {
    ToolCallRequest { id: call.tool_call_id.clone(), name: call.tool_name.clone(), input_text: call.input_text.clone() }
}

fn result(block: &AssistantBlock, calls: &[&ToolCallRow], limit: usize) -> Option<ToolResult> {
    let request = block.tool_call()?;
    let row = last_row(calls.iter().copied(), request);
    let content = row.and_then(|call| content(call, limit));
    Some(ToolResult {
        call_id: request.id.clone(),
        tool_name: request.name.clone(),
        is_error: row.is_none_or(|call| call.output.is_none()),
        content: content.unwrap_or_else(|| error_json(NO_RESULT, "interrupted", limit)),
    })
}

/// The row of a call; of one that was made more than once, the last.
pub(super) fn last_row<'a>(
    rows: impl DoubleEndedIterator<Item = &'a ToolCallRow>,
    request: &ToolCallRequest,
) -> Option<&'a ToolCallRow> {
    let id = stored_id(&request.id);
    rows.rev().find(|row| row.tool_call_id == id)
}

fn content(call: &ToolCallRow, limit: usize) -> Option<String> {
    if let Some(output) = &call.output {
        return Some(success_json(output, limit));
    }
    let error = call.error.as_ref()?;
    Some(error_json(error, call.error_type.as_deref().unwrap_or("error"), limit))
}

#[cfg(test)]
mod tests {
    use super::{ModelMessage, newest_within};
    use crate::llm::{AssistantBlock, ToolCallRequest, ToolResult};

    /// A turn with one call, 10 bytes in all.
    fn turn(number: usize) -> Vec<ModelMessage> {
        let id = format!("call_{number}");
        let call = ToolCallRequest { id: id.clone(), name: "a".to_owned(), input_text: "{}".to_owned() };
        let result = ToolResult { call_id: id, tool_name: "a".to_owned(), content: "1234".to_owned(), is_error: false };
        vec![
            ModelMessage::User(format!("{number:03}")),
            ModelMessage::Assistant(vec![AssistantBlock::ToolCall(call)]),
            ModelMessage::ToolResults(vec![result]),
        ]
    }

    #[test]
    fn the_budget_drops_whole_oldest_turns_and_never_the_last() {
        let turns: Vec<_> = (0..5).map(turn).collect();
        for (budget, kept) in [(50, 5), (49, 4), (20, 2), (19, 1), (0, 1)] {
            let expected: Vec<_> = turns[5 - kept..].concat();
            assert_eq!(newest_within(turns.clone(), budget), expected, "{budget} bytes");
        }
        assert_eq!(newest_within(Vec::new(), 10), []);
    }
}
