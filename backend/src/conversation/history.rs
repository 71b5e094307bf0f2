//! What a model is told of earlier turns: the same blocks it wrote, step by step, each call with its result. Stopped,
//! failed and interrupted turns give a valid history too.

use std::collections::BTreeMap;

use super::{
    model::{MessageRow, ModelCallRow, ToolCallRow},
    repository::calls::stored_id,
};
use crate::{
    agent::{error_json, success_json},
    llm::{AssistantBlock, ModelMessage, ToolCallRequest, ToolResult},
};

/// Told to the model of a call that has no result: the server or a person ended the turn while it ran.
const NO_RESULT: &str = "the call was interrupted; its outcome is unknown";

/// The messages of a branch as a model is told them, each result cut to `limit` bytes.
pub(super) fn history(
    branch: &[MessageRow],
    model_calls: &[ModelCallRow],
    tool_calls: &[ToolCallRow],
    limit: usize,
) -> Vec<ModelMessage> {
    let mut history = Vec::new();
    for message in branch {
        if message.is_user() {
            history.push(ModelMessage::User(message.content.clone()));
            continue;
        }
        let model_calls = model_calls.iter().filter(|call| call.message_id == message.id);
        let tool_calls = tool_calls.iter().filter(|call| call.message_id == message.id);
        tell_turn(message, model_calls, tool_calls, limit, &mut history);
    }
    history
}

fn tell_turn<'a>(
    message: &MessageRow,
    model_calls: impl Iterator<Item = &'a ModelCallRow>,
    tool_calls: impl Iterator<Item = &'a ToolCallRow>,
    limit: usize,
    history: &mut Vec<ModelMessage>,
) {
    let mut steps: BTreeMap<i32, (Vec<AssistantBlock>, Vec<&ToolCallRow>)> = BTreeMap::new();
    for call in model_calls {
        // A step that cannot be read is told by its calls alone.
        steps.entry(call.step).or_default().0 = serde_json::from_str(&call.blocks).unwrap_or_default();
    }
    for call in tool_calls {
        steps.entry(call.step).or_default().1.push(call);
    }
    let mut told_bytes = 0;
    for (mut blocks, calls) in steps.into_values() {
        told_bytes += blocks.iter().map(text_bytes).sum::<usize>();
        // A step that was cut short has no blocks; its calls are rows already.
        if !blocks.iter().any(|block| matches!(block, AssistantBlock::ToolCall(_))) {
            blocks.extend(calls.iter().map(|call| AssistantBlock::ToolCall(request(call))));
        }
        // Opaque blocks count within their own turn only.
        blocks.retain(|block| !matches!(block, AssistantBlock::Opaque { .. }));
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

fn text_bytes(block: &AssistantBlock) -> usize {
    match block {
        AssistantBlock::Text { text } => text.len(),
        AssistantBlock::ToolCall(_) | AssistantBlock::Opaque { .. } => 0,
    }
}

fn request(call: &ToolCallRow) -> ToolCallRequest {
    ToolCallRequest { id: call.tool_call_id.clone(), name: call.tool_name.clone(), input_text: call.input_text.clone() }
}

fn result(block: &AssistantBlock, calls: &[&ToolCallRow], limit: usize) -> Option<ToolResult> {
    let AssistantBlock::ToolCall(request) = block else { return None };
    let row = calls.iter().find(|call| call.tool_call_id == stored_id(&request.id));
    let content = row.and_then(|call| content(call, limit));
    Some(ToolResult {
        call_id: request.id.clone(),
        tool_name: request.name.clone(),
        is_error: row.is_none_or(|call| call.output.is_none()),
        content: content.unwrap_or_else(|| error_json(NO_RESULT, "interrupted", limit)),
    })
}

fn content(call: &ToolCallRow, limit: usize) -> Option<String> {
    if let Some(output) = &call.output {
        return Some(success_json(output, limit));
    }
    let error = call.error.as_ref()?;
    Some(error_json(error, call.error_type.as_deref().unwrap_or("error"), limit))
}
