//! The body of `POST /v1/chat/completions` (<https://platform.openai.com/docs/api-reference/chat/create>), as far as it is
//! read. What is absent or null is as good as not said, and unknown fields are skipped.

use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::{
    ToSchema,
    openapi::{
        Object, ObjectBuilder,
        schema::{SchemaType, Type},
    },
};

use super::{super::body::parse, refusal::Refusal};

/// What a program asks.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct ChatRequest {
    /// As `GET /v1/models` lists it; the default when absent.
    pub(super) model: Option<String>,
    /// The history, which ends with a question or with results of the program's own tools.
    #[serde(default)]
    #[schema(required = true, min_items = 1, max_items = 10_000)]
    pub(super) messages: Vec<ChatMessage>,
    pub(super) stream: Option<bool>,
    pub(super) stream_options: Option<StreamOptions>,
    /// The lower of this and `max_completion_tokens` counts.
    #[schema(minimum = 1)]
    pub(super) max_tokens: Option<i64>,
    #[schema(minimum = 1)]
    pub(super) max_completion_tokens: Option<i64>,
    #[schema(minimum = 0, maximum = 2)]
    pub(super) temperature: Option<f64>,
    /// One text, or at most four.
    pub(super) stop: Option<Stop>,
    #[schema(minimum = 1, maximum = 1)]
    pub(super) n: Option<i64>,
    #[schema(schema_with = off)]
    pub(super) logprobs: Option<bool>,
    pub(super) response_format: Option<ResponseFormat>,
    /// Tools that the program runs itself, beside ours.
    #[schema(max_items = 128)]
    pub(super) tools: Option<Vec<ToolDefinition>>,
    pub(super) tool_choice: Option<ChoiceOfTool>,
    #[schema(schema_with = nothing, required = false)]
    pub(super) functions: Option<Box<RawValue>>,
    #[schema(schema_with = nothing, required = false)]
    pub(super) audio: Option<Box<RawValue>>,
    /// Nothing but `text`.
    pub(super) modalities: Option<Vec<String>>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct StreamOptions {
    pub(super) include_usage: Option<bool>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct ResponseFormat {
    #[serde(rename = "type")]
    #[schema(pattern = "^text$")]
    pub(super) kind: String,
}

/// Texts before which the model is to stop.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub(super) enum Stop {
    One(String),
    Several(Vec<String>),
}

/// A tool that the program runs itself.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct ToolDefinition {
    #[serde(rename = "type")]
    #[schema(pattern = "^function$")]
    pub(super) kind: String,
    #[schema(required = true, nullable = false)]
    pub(super) function: Option<FunctionDefinition>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct FunctionDefinition {
    #[schema(pattern = "^[a-zA-Z0-9_-]{1,64}$")]
    pub(super) name: String,
    pub(super) description: Option<String>,
    /// JSON Schema.
    #[schema(value_type = Option<Object>)]
    pub(super) parameters: Option<Box<RawValue>>,
}

/// Whether the model may call tools.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub(super) enum ChoiceOfTool {
    Word(String),
    Function {
        #[serde(rename = "type")]
        kind: String,
        function: Option<FunctionName>,
        name: Option<String>,
    },
}

#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct FunctionName {
    pub(super) name: String,
}

/// An entry of the history.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct ChatMessage {
    #[schema(pattern = "^(system|developer|user|assistant|tool)$")]
    pub(super) role: String,
    pub(super) content: Option<Content>,
    /// Text by which an assistant declined to answer.
    pub(super) refusal: Option<String>,
    pub(super) tool_calls: Option<Vec<ToolCall>>,
    pub(super) tool_call_id: Option<String>,
}

/// What a message says.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct ContentPart {
    #[serde(rename = "type")]
    #[schema(pattern = "^(text|refusal)$")]
    pub(super) kind: String,
    pub(super) text: Option<String>,
    /// Text of a part of the type `refusal`, by which an assistant declined to answer.
    pub(super) refusal: Option<String>,
}

impl ContentPart {
    /// The type of a part by which an assistant declined to answer.
    pub(super) const REFUSAL: &'static str = "refusal";

    /// Returns the part's text, which is in a field of its own in a refusal.
    pub(super) fn into_text(self) -> Option<String> {
        if self.kind == Self::REFUSAL { self.refusal } else { self.text }
    }
}

/// A call that an assistant's message asks for.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ClientToolCall)]
pub(super) struct ToolCall {
    pub(super) id: String,
    pub(super) function: Function,
}

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = CalledFunction)]
pub(super) struct Function {
    pub(super) name: String,
    /// JSON as text, as the model wrote it.
    pub(super) arguments: String,
}

/// Whether a field says anything.
pub(super) fn is_there(json: Option<&RawValue>) -> bool {
    json.is_some_and(|json| json.get() != "null")
}

/// What is refused unless it is null.
pub(super) fn nothing() -> Object {
    Object::with_type(Type::Null)
}

/// What is refused when it is true.
pub(super) fn off() -> Object {
    let kinds = SchemaType::from_iter([Type::Boolean, Type::Null]);
    ObjectBuilder::new().schema_type(kinds).enum_values(Some([Some(false), None])).build()
}

/// Reads a body, and says which field is not what it must be.
pub(super) fn read(body: &str) -> Result<ChatRequest, Refusal> {
    read_as(body, "chat completion request")
}

/// Reads a body that is to be such a thing.
pub(super) fn read_as<'a, T: Deserialize<'a>>(body: &'a str, thing: &str) -> Result<T, Refusal> {
    if body.starts_with('[') {
        let message = format!("The body is a list, and a {thing} is an object.");
        return Err(Refusal { param: None, ..Refusal::bad("", message) });
    }
    parse(body).map_err(|(path, reason)| match path {
        Some(path) => unreadable(path, &reason),
        None => Refusal { param: None, ..Refusal::bad("", format!("The body is no {thing}: {reason}.")) },
    })
}

/// Reads what stands in a field, and says which place in it is not what it must be.
pub(super) fn read_part<'a, T: Deserialize<'a>>(json: &'a str, field: &str) -> Result<T, Refusal> {
    parse(json).map_err(|(path, reason)| unreadable(format!("{field}{}", path.unwrap_or_default()), &reason))
}

fn unreadable(place: String, reason: &str) -> Refusal {
    let message = format!("The field {place} cannot be read: {reason}.");
    Refusal::bad(place, message)
}
