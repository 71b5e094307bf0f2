//! The body of `POST /v1/responses` (<https://platform.openai.com/docs/api-reference/responses/create>), as far as it is read.
//! What is absent or null is as good as not said, and unknown fields are skipped.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::wire::{ChoiceOfTool, Content, ResponseFormat};

/// What a program asks.
#[derive(Debug, Deserialize)]
pub(super) struct ResponseRequest {
    pub(super) model: Option<String>,
    /// A text, or a list of [`InputItem`].
    pub(super) input: Option<Box<RawValue>>,
    pub(super) instructions: Option<String>,
    pub(super) previous_response_id: Option<String>,
    pub(super) store: Option<bool>,
    pub(super) stream: Option<bool>,
    pub(super) max_output_tokens: Option<i64>,
    pub(super) temperature: Option<f64>,
    pub(super) tools: Option<Vec<ToolDefinition>>,
    pub(super) tool_choice: Option<ChoiceOfTool>,
    pub(super) text: Option<TextOptions>,
    pub(super) background: Option<bool>,
    pub(super) conversation: Option<Box<RawValue>>,
    pub(super) prompt: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct TextOptions {
    pub(super) format: Option<ResponseFormat>,
}

/// A tool: a function of the program's, a namespace with several, or one that OpenAI would run.
#[derive(Debug, Deserialize)]
pub(super) struct ToolDefinition {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) name: Option<String>,
    /// Of a namespace: its functions.
    pub(super) tools: Option<Vec<Self>>,
    pub(super) description: Option<String>,
    /// JSON Schema.
    pub(super) parameters: Option<Box<RawValue>>,
}

/// An entry of the history. Which fields it has depends on its type.
#[derive(Debug, Deserialize)]
pub(super) struct InputItem {
    /// A message when absent.
    #[serde(rename = "type")]
    pub(super) kind: Option<String>,
    pub(super) role: Option<String>,
    pub(super) content: Option<Content>,
    pub(super) call_id: Option<String>,
    pub(super) name: Option<String>,
    /// Where the name is known.
    pub(super) namespace: Option<String>,
    /// JSON as text, as the model wrote it.
    pub(super) arguments: Option<String>,
    pub(super) output: Option<Content>,
}
