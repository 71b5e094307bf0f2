//! The request body of `POST /v1/responses` (<https://platform.openai.com/docs/api-reference/responses/create>). Fields
//! that are null count as absent, and unknown fields are ignored.

use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::{
    ToSchema,
    openapi::{Array, Object, OneOfBuilder, Ref, Schema, schema::Type},
};

use super::super::wire::{ChoiceOfTool, Content, ResponseFormat, nothing, off};

/// What a program asks.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ResponseRequest {
    /// As `GET /v1/models` lists it; the default when absent.
    pub(crate) model: Option<String>,
    /// A text, or a list of [`InputItem`].
    #[schema(schema_with = text_or_items)]
    pub(crate) input: Option<Box<RawValue>>,
    pub(crate) instructions: Option<String>,
    /// The response to go on from.
    pub(crate) previous_response_id: Option<String>,
    pub(crate) store: Option<bool>,
    pub(crate) stream: Option<bool>,
    #[schema(minimum = 1)]
    pub(crate) max_output_tokens: Option<i64>,
    #[schema(minimum = 0, maximum = 2)]
    pub(crate) temperature: Option<f64>,
    /// Tools that the program runs itself, beside ours.
    #[schema(max_items = 128)]
    pub(crate) tools: Option<Vec<ToolDefinition>>,
    pub(crate) tool_choice: Option<ChoiceOfTool>,
    pub(crate) text: Option<TextOptions>,
    #[schema(schema_with = off)]
    pub(crate) background: Option<bool>,
    #[schema(schema_with = nothing, required = false)]
    pub(crate) conversation: Option<Box<RawValue>>,
    #[schema(schema_with = nothing, required = false)]
    pub(crate) prompt: Option<Box<RawValue>>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct TextOptions {
    pub(crate) format: Option<ResponseFormat>,
}

/// A tool: a function of the program's, a namespace with several, or one that OpenAI would run.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ResponseTool)]
pub(crate) struct ToolDefinition {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) name: Option<String>,
    /// Of a namespace: its functions.
    #[schema(no_recursion)]
    pub(crate) tools: Option<Vec<Self>>,
    pub(crate) description: Option<String>,
    /// JSON Schema.
    #[schema(value_type = Option<Object>)]
    pub(crate) parameters: Option<Box<RawValue>>,
}

/// An entry of the history. Which fields it has depends on its type.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ResponseInputItem)]
pub(crate) struct InputItem {
    /// A message when absent.
    #[serde(rename = "type")]
    pub(crate) kind: Option<String>,
    pub(crate) role: Option<String>,
    pub(crate) content: Option<Content>,
    pub(crate) call_id: Option<String>,
    pub(crate) name: Option<String>,
    /// Where the name is known.
    pub(crate) namespace: Option<String>,
    /// JSON as text, as the model wrote it.
    pub(crate) arguments: Option<String>,
    pub(crate) output: Option<Content>,
}

fn text_or_items() -> Schema {
    let items = Array::new(Ref::from_schema_name("ResponseInputItem"));
    OneOfBuilder::new().item(Object::with_type(Type::String)).item(items).build().into()
}
