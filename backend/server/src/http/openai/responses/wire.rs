//! The body of `POST /v1/responses` (<https://platform.openai.com/docs/api-reference/responses/create>), as far as it is read.
//! What is absent or null is as good as not said, and unknown fields are skipped.

use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::{
    ToSchema,
    openapi::{Array, Object, OneOfBuilder, Ref, Schema, schema::Type},
};

use super::super::wire::{ChoiceOfTool, Content, ResponseFormat, nothing, off};

/// What a program asks.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct ResponseRequest {
    /// As `GET /v1/models` lists it; the default when absent.
    pub(super) model: Option<String>,
    /// A text, or a list of [`InputItem`].
    #[schema(schema_with = text_or_items)]
    pub(super) input: Option<Box<RawValue>>,
    pub(super) instructions: Option<String>,
    /// The response to go on from.
    pub(super) previous_response_id: Option<String>,
    pub(super) store: Option<bool>,
    pub(super) stream: Option<bool>,
    #[schema(minimum = 1)]
    pub(super) max_output_tokens: Option<i64>,
    #[schema(minimum = 0, maximum = 2)]
    pub(super) temperature: Option<f64>,
    /// Tools that the program runs itself, beside ours.
    #[schema(max_items = 128)]
    pub(super) tools: Option<Vec<ToolDefinition>>,
    pub(super) tool_choice: Option<ChoiceOfTool>,
    pub(super) text: Option<TextOptions>,
    #[schema(schema_with = off)]
    pub(super) background: Option<bool>,
    #[schema(schema_with = nothing, required = false)]
    pub(super) conversation: Option<Box<RawValue>>,
    #[schema(schema_with = nothing, required = false)]
    pub(super) prompt: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct TextOptions {
    pub(super) format: Option<ResponseFormat>,
}

/// A tool: a function of the program's, a namespace with several, or one that OpenAI would run.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ResponseTool)]
pub(super) struct ToolDefinition {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) name: Option<String>,
    /// Of a namespace: its functions.
    #[schema(no_recursion)]
    pub(super) tools: Option<Vec<Self>>,
    pub(super) description: Option<String>,
    /// JSON Schema.
    #[schema(value_type = Option<Object>)]
    pub(super) parameters: Option<Box<RawValue>>,
}

/// An entry of the history. Which fields it has depends on its type.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ResponseInputItem)]
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

fn text_or_items() -> Schema {
    let items = Array::new(Ref::from_schema_name("ResponseInputItem"));
    OneOfBuilder::new().item(Object::with_type(Type::String)).item(items).build().into()
}
