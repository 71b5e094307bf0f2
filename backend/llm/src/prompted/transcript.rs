//! Converts the history to text for a model without tool calling. Past calls become the blocks that the model was asked
//! to write, and their results become blocks in the following user message. Roles alternate.

use serde_json::value::RawValue;
use tallybook_protocol::ModelInfo;

use crate::{
    history::{self, Block, Entry, Outcome, Part},
    request::{AssistantBlock, ImagePart, ModelMessage, UserPart},
};

/// Returns the history as text messages with alternating roles.
pub(crate) fn as_text(reader: &ModelInfo, messages: &[ModelMessage]) -> Vec<ModelMessage> {
    let mut converted = Vec::new();
    for entry in history::repair(reader, messages) {
        match entry {
            Entry::User(parts) => {
                for part in parts {
                    match part {
                        Part::Text(text) => push_user(&mut converted, text),
                        Part::Image(image) => push_image(&mut converted, image),
                    }
                }
            }
            Entry::Step { blocks, results } => {
                push_assistant(&mut converted, &joined(blocks.iter().filter_map(said)));
                push_user(&mut converted, &joined(results.iter().map(result)));
            }
        }
    }
    converted
}

fn push_user(converted: &mut Vec<ModelMessage>, text: &str) {
    if text.is_empty() {
        return;
    }
    let Some(ModelMessage::User(parts)) = converted.last_mut() else {
        converted.push(ModelMessage::user_text(text));
        return;
    };
    if let Some(UserPart::Text(before)) = parts.last_mut() {
        append(before, text);
    } else {
        parts.push(UserPart::Text(text.to_owned()));
    }
}

fn push_image(converted: &mut Vec<ModelMessage>, image: &ImagePart) {
    let image = UserPart::Image(image.clone());
    if let Some(ModelMessage::User(parts)) = converted.last_mut() {
        parts.push(image);
    } else {
        converted.push(ModelMessage::User(vec![image]));
    }
}

fn push_assistant(converted: &mut Vec<ModelMessage>, content: &str) {
    if let Some(ModelMessage::Assistant(blocks)) = converted.last_mut()
        && let Some(AssistantBlock::Text { text }) = blocks.last_mut()
    {
        append(text, content);
        return;
    }
    converted.push(ModelMessage::Assistant(vec![AssistantBlock::Text { text: content.to_owned() }]));
}

fn append(before: &mut String, text: &str) {
    before.push_str("\n\n");
    before.push_str(text);
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join("\n\n")
}

/// Returns the text of a block. A call is written in the form that the prompt asks for, because models imitate their
/// earlier output. Its arguments keep every digit, and cannot close the fence: they are valid JSON, which has no line
/// that begins with one.
fn said(block: &Block<'_>) -> Option<String> {
    match block {
        Block::Text(text) => Some(text.trim_end().to_owned()),
        Block::Call { name, input, .. } => {
            Some(format!("```tool\n{{\"tool\": \"{name}\", \"args\": {}}}\n```", input.trim()))
        }
        // Reasoning belongs to the native calls that followed it.
        Block::Opaque(_) => None,
    }
}

fn result(outcome: &Outcome<'_>) -> String {
    let Outcome { id, name, content, .. } = outcome;
    // On one line, whatever the content is, so that it cannot end the block.
    let is_plain = !content.contains(['\n', '\r']) && serde_json::from_str::<&RawValue>(content).is_ok();
    let content = if is_plain { (*content).to_owned() } else { serde_json::Value::from(*content).to_string() };
    format!("```tool_result\n{{\"id\": \"{id}\", \"tool\": \"{name}\", \"output\": {content}}}\n```")
}

#[cfg(test)]
mod tests {
    use super::{ModelInfo, as_text};
    use crate::{AssistantBlock, ModelMessage, ToolCallRequest, ToolResult, UserPart};

    fn reader() -> ModelInfo {
        ModelInfo { provider: "openai".into(), model: "m".into() }
    }

    fn call(id: &str, input: &str) -> AssistantBlock {
        AssistantBlock::ToolCall(ToolCallRequest {
            id: id.into(),
            name: "add".into(),
            input_text: input.into(),
            written_by: Some(reader()),
        })
    }

    fn result(id: &str, content: &str) -> ToolResult {
        ToolResult {
            call_id: id.into(),
            tool_name: "add".into(),
            content: content.into(),
            is_error: false,
            images: Vec::new(),
        }
    }

    fn said(text: &str) -> AssistantBlock {
        AssistantBlock::Text { text: text.into() }
    }

    /// Returns each message as `role: text`.
    fn transcript(messages: &[ModelMessage]) -> Vec<String> {
        let transcript = as_text(&reader(), messages).into_iter().map(|message| match message {
            ModelMessage::User(parts) => format!("user: {}", UserPart::join_texts(&parts)),
            ModelMessage::Assistant(blocks) => match blocks.as_slice() {
                [AssistantBlock::Text { text }] => format!("assistant: {text}"),
                other => panic!("{other:?}"),
            },
            ModelMessage::ToolResults(results) => panic!("{results:?}"),
        });
        transcript.collect()
    }

    #[test]
    fn calls_and_results_are_sent_as_blocks() {
        let messages = [
            ModelMessage::user_text("1 + 2?"),
            ModelMessage::Assistant(vec![
                said("Let me see.\n\n"),
                call("x", r#"{"a":1.00000000000000000001}"#),
                call("y", "oops"),
            ]),
            ModelMessage::ToolResults(vec![result("y", "``` \n no JSON"), result("x", r#"{"success":true}"#)]),
            ModelMessage::Assistant(vec![said("3.")]),
            ModelMessage::user_text("and?"),
        ];
        let expected = [
            "user: 1 + 2?",
            "assistant: Let me see.\n\n```tool\n{\"tool\": \"add\", \"args\": {\"a\":1.00000000000000000001}}\n```\n\n\
             ```tool\n{\"tool\": \"add\", \"args\": {\"unreadable_arguments\":\"oops\"}}\n```",
            "user: ```tool_result\n{\"id\": \"x\", \"tool\": \"add\", \"output\": {\"success\":true}}\n```\n\n\
             ```tool_result\n{\"id\": \"y\", \"tool\": \"add\", \"output\": \"``` \\n no JSON\"}\n```",
            "assistant: 3.",
            "user: and?",
        ];
        assert_eq!(transcript(&messages), expected);
    }

    #[test]
    fn roles_alternate() {
        let step =
            || [ModelMessage::Assistant(vec![call("x", "{}")]), ModelMessage::ToolResults(vec![result("x", "1")])];
        let stopped = [vec![ModelMessage::user_text("one")], step().to_vec(), vec![ModelMessage::user_text("two")]];
        let transcript = transcript(&stopped.concat());
        assert_eq!(transcript.len(), 3);
        assert!(
            transcript[2].starts_with("user: ```tool_result\n") && transcript[2].ends_with("```\n\ntwo"),
            "{transcript:?}"
        );
    }
}
