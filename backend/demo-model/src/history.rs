//! Reads a request's history: the question, the results of the model's calls, and the last number of the conversation
//! before the question.

use serde::Deserialize;
use serde_json::value::RawValue;
use tallybook_llm::{AssistantBlock, ModelMessage, ToolResult, UserPart};

use super::plan::Outcomes;

/// The parts of a history that the model uses.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The user's last message.
    pub(crate) question: String,
    /// The number that the last tool call before the question returned; `None` if there is none.
    pub(crate) earlier: Option<String>,
    /// The results of the calls since the question.
    pub(crate) outcomes: Outcomes,
    /// `true` in the first step of the answer.
    pub(crate) is_first_step: bool,
    /// A number for the next step that no call ID in the history contains.
    pub(crate) next_step: u64,
}

/// A tool result, as the agent writes it.
#[derive(Deserialize)]
struct Content {
    success: bool,
    #[serde(default)]
    result: Option<Box<RawValue>>,
    #[serde(default)]
    error: Option<String>,
}

impl History {
    /// Reads a history, oldest message first.
    pub(crate) fn read(messages: &[ModelMessage]) -> Self {
        let asked = messages.iter().rposition(|message| matches!(message, ModelMessage::User(_)));
        let (before, since) = messages.split_at(asked.unwrap_or(0));
        let question = match since.first() {
            Some(ModelMessage::User(parts)) => UserPart::join_texts(parts),
            _ => String::new(),
        };
        let ids = messages.iter().flat_map(calls).filter_map(|(id, ..)| step_of(id));
        Self {
            question,
            earlier: earlier(before),
            outcomes: outcomes(since),
            is_first_step: !since.iter().any(|message| matches!(message, ModelMessage::Assistant(_))),
            next_step: ids.max().unwrap_or(0).saturating_add(1),
        }
    }
}

/// Returns the ID of the call at `position` in a step.
pub(crate) fn call_id(step: u64, position: usize) -> String {
    format!("demo_{step}_{}", position + 1)
}

fn step_of(id: &str) -> Option<u64> {
    id.strip_prefix("demo_")?.split('_').next()?.parse().ok()
}

/// Returns ID, tool and arguments of the calls in a message.
fn calls(message: &ModelMessage) -> impl Iterator<Item = (&str, &str, &str)> {
    let blocks = match message {
        ModelMessage::Assistant(blocks) => blocks.as_slice(),
        ModelMessage::User(_) | ModelMessage::ToolResults(_) => &[],
    };
    let calls = blocks.iter().filter_map(AssistantBlock::tool_call);
    calls.map(|call| (call.id.as_str(), call.name.as_str(), call.input_text.as_str()))
}

fn earlier(before: &[ModelMessage]) -> Option<String> {
    let results = before.iter().rev().find_map(|message| match message {
        ModelMessage::ToolResults(results) => results.last(),
        ModelMessage::User(_) | ModelMessage::Assistant(_) => None,
    });
    outcome(results?).ok()
}

fn outcomes(since: &[ModelMessage]) -> Outcomes {
    let mut outcomes = Outcomes::new();
    let mut asked: &[ModelMessage] = &[];
    for (position, message) in since.iter().enumerate() {
        match message {
            ModelMessage::Assistant(_) => asked = &since[position..=position],
            ModelMessage::ToolResults(results) => {
                for result in results {
                    let mut calls = asked.iter().flat_map(calls);
                    if let Some((_, tool, input)) = calls.find(|(id, ..)| *id == result.call_id) {
                        outcomes.insert((tool.to_owned(), input.to_owned()), outcome(result));
                    }
                }
            }
            ModelMessage::User(_) => {}
        }
    }
    outcomes
}

/// Returns the number that a tool returned. The error says in the tool's words why there is none.
fn outcome(result: &ToolResult) -> Result<String, String> {
    let content: Content = serde_json::from_str(&result.content).map_err(|_| result.content.clone())?;
    if !content.success || result.is_error {
        return Err(content.error.unwrap_or_else(|| result.content.clone()));
    }
    let raw = content.result.as_ref().map_or("null", |raw| raw.get());
    let text = serde_json::from_str::<String>(raw).unwrap_or_else(|_| raw.to_owned());
    // `evaluate` appends a note to its number if it used floating point. Any other suffix, such as a note that the text
    // was truncated, makes it another number.
    let number = text.strip_suffix(" (floating point)").unwrap_or(&text);
    let is_number = serde_json::from_str::<&RawValue>(number).is_ok()
        && number.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    if is_number { Ok(number.to_owned()) } else { Err(format!("the tool gave {text:?}, which is not a number")) }
}
