//! The request body of `POST /v1/chat/completions` (<https://platform.openai.com/docs/api-reference/chat/create>), and
//! limits for API clients. Fields that are null count as absent, and unknown fields are ignored.

use serde::Deserialize;
use serde_json::value::RawValue;
use utoipa::{
    ToSchema,
    openapi::{
        Object, ObjectBuilder,
        schema::{SchemaType, Type},
    },
};

use crate::http::{body::parse, openai::error::Refusal};

/// A request for a chat completion.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ChatRequest {
    /// Name of a model in `GET /v1/models`. Absent: the default model.
    pub(crate) model: Option<String>,
    /// The history, which ends with a question or with results of the client's own tools.
    #[serde(default)]
    #[schema(required = true, min_items = 1, max_items = 10_000)]
    pub(crate) messages: Vec<ChatMessage>,
    pub(crate) stream: Option<bool>,
    pub(crate) stream_options: Option<RequestedStream>,
    /// Maximum length of the answer, in tokens. If `max_completion_tokens` is also set, the lower one applies.
    #[schema(minimum = 1)]
    pub(crate) max_tokens: Option<i64>,
    #[schema(minimum = 1)]
    pub(crate) max_completion_tokens: Option<i64>,
    #[schema(minimum = 0, maximum = 2)]
    pub(crate) temperature: Option<f64>,
    /// One text, or up to four, at which the answer ends.
    pub(crate) stop: Option<Stop>,
    #[schema(minimum = 1, maximum = 1)]
    pub(crate) n: Option<i64>,
    #[schema(schema_with = off)]
    pub(crate) logprobs: Option<bool>,
    pub(crate) response_format: Option<ResponseFormat>,
    /// Tools that the client runs itself, in addition to Tallybook's.
    #[schema(max_items = 128)]
    pub(crate) tools: Option<Vec<ToolDefinition>>,
    pub(crate) tool_choice: Option<ChoiceOfTool>,
    #[schema(schema_with = nothing, required = false)]
    pub(crate) functions: Option<Box<RawValue>>,
    #[schema(schema_with = nothing, required = false)]
    pub(crate) audio: Option<Box<RawValue>>,
    /// Only `text`.
    pub(crate) modalities: Option<Vec<String>>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = StreamOptions)]
pub(crate) struct RequestedStream {
    pub(crate) include_usage: Option<bool>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ResponseFormat {
    #[serde(rename = "type")]
    #[schema(pattern = "^text$")]
    pub(crate) kind: String,
}

/// Texts before which the model is to stop.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Stop {
    One(String),
    Several(Vec<String>),
}

/// A tool that the program runs itself.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ToolDefinition {
    #[serde(rename = "type")]
    #[schema(pattern = "^function$")]
    pub(crate) kind: String,
    #[schema(required = true, nullable = false)]
    pub(crate) function: Option<FunctionDefinition>,
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct FunctionDefinition {
    #[schema(pattern = "^[a-zA-Z0-9_-]{1,64}$")]
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    /// JSON Schema.
    #[schema(value_type = Option<Object>)]
    pub(crate) parameters: Option<Box<RawValue>>,
}

/// Tool choice: the model may, must, or must not call tools.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ChoiceOfTool {
    Word(String),
    Function {
        #[serde(rename = "type")]
        kind: String,
        function: Option<FunctionName>,
        name: Option<String>,
    },
}

#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct FunctionName {
    pub(crate) name: String,
}

/// An entry of the history.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ChatMessage {
    #[schema(pattern = "^(system|developer|user|assistant|tool)$")]
    pub(crate) role: String,
    pub(crate) content: Option<Content>,
    /// Text with which the assistant declined to answer.
    pub(crate) refusal: Option<String>,
    pub(crate) tool_calls: Option<Vec<ToolCall>>,
    pub(crate) tool_call_id: Option<String>,
}

/// Content of a message.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

/// A part of a message: text, an image or a file. Images and files are accepted in user messages.
#[derive(Debug, Default, Deserialize, ToSchema)]
pub(crate) struct ContentPart {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) text: Option<String>,
    /// Text of a part of the type `refusal`, by which an assistant declined to answer.
    pub(crate) refusal: Option<String>,
    /// Of an image: a data URL with base64. Remote URLs are refused.
    pub(crate) image_url: Option<ImageUrl>,
    /// Of a part of the type `file`.
    pub(crate) file: Option<FilePart>,
    /// Of a part of the type `input_file`: a data URL, or base64.
    pub(crate) file_data: Option<String>,
    /// Name of an `input_file`.
    pub(crate) filename: Option<String>,
    #[schema(schema_with = nothing, required = false)]
    pub(crate) file_id: Option<String>,
    /// Of an `input_file`: a data URL. Remote URLs are refused.
    pub(crate) file_url: Option<String>,
}

/// An image as a data URL.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub(crate) enum ImageUrl {
    /// As the Responses API has it.
    Url(String),
    /// As chat completions have it.
    Object { url: String },
}

/// A file with its content.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(as = ContentFile)]
pub(crate) struct FilePart {
    /// A data URL, or base64.
    pub(crate) file_data: Option<String>,
    pub(crate) filename: Option<String>,
    #[schema(schema_with = nothing, required = false)]
    pub(crate) file_id: Option<String>,
}

impl ContentPart {
    /// Type of a content part with which an assistant declined to answer.
    pub(crate) const REFUSAL: &'static str = "refusal";

    /// Returns the part's text, which is in a field of its own in a refusal.
    pub(crate) fn into_text(self) -> Option<String> {
        if self.kind == Self::REFUSAL { self.refusal } else { self.text }
    }
}

/// A call that an assistant's message asks for.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ClientToolCall)]
pub(crate) struct ToolCall {
    pub(crate) id: String,
    pub(crate) function: Function,
}

#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = CalledFunction)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// JSON as text, as the model wrote it.
    pub(crate) arguments: String,
}

/// Returns `true` if a field has a value other than null.
pub(crate) fn is_set(json: Option<&RawValue>) -> bool {
    json.is_some_and(|json| json.get() != "null")
}

/// Returns the schema of a field that is refused unless it is null.
pub(crate) fn nothing() -> Object {
    Object::with_type(Type::Null)
}

/// Returns the schema of a field that is refused if it is true.
pub(crate) fn off() -> Object {
    let kinds = SchemaType::from_iter([Type::Boolean, Type::Null]);
    ObjectBuilder::new().schema_type(kinds).enum_values(Some([Some(false), None])).build()
}

/// Parses a body as `T`, which error messages call `thing`. The error names the field at fault.
pub(crate) fn parse_body<'a, T: Deserialize<'a>>(body: &'a str, thing: &str) -> Result<T, Refusal> {
    if body.starts_with('[') {
        let message = format!("The body is a list, and a {thing} is an object.");
        return Err(Refusal { param: None, ..Refusal::bad("", message) });
    }
    parse(body).map_err(|(path, reason)| match path {
        Some(path) => unreadable(path, &reason),
        None => Refusal { param: None, ..Refusal::bad("", format!("The body is not a valid {thing}: {reason}.")) },
    })
}

/// Parses the JSON in `field`. The error names the place at fault.
pub(crate) fn parse_part<'a, T: Deserialize<'a>>(json: &'a str, field: &str) -> Result<T, Refusal> {
    parse(json).map_err(|(path, reason)| unreadable(format!("{field}{}", path.unwrap_or_default()), &reason))
}

fn unreadable(place: String, reason: &str) -> Refusal {
    let message = format!("The field {place} cannot be read: {reason}.");
    Refusal::bad(place, message)
}

/// Maximum length of a client's own conversation id, in characters. The database column has this length.
pub(crate) const MAX_CHAT_ID_CHARS: usize = 200;

/// Maximum number of stop sequences. Every provider accepts this many.
pub(crate) const MAX_STOPS: usize = 4;

/// Maximum length of a stop sequence, in bytes.
pub(crate) const MAX_STOP_BYTES: usize = 1024;

/// Maximum number of messages in a request.
pub(crate) const MAX_MESSAGES: usize = 10_000;

/// Maximum number of client tools in a request, the same as for a tool server.
pub(crate) const MAX_TOOLS: usize = 128;

/// Maximum length of a client tool's description, in bytes.
pub(crate) const MAX_TOOL_DESCRIPTION_BYTES: usize = 16 * 1024;

/// Maximum size of a client tool's JSON schema in bytes, and (`MAX_SCHEMA_LEVELS`) its maximum depth.
pub(crate) const MAX_SCHEMA_BYTES: usize = 64 * 1024;
pub(crate) const MAX_SCHEMA_LEVELS: usize = 32;
