//! The body of `POST /v1/chat/completions` (<https://platform.openai.com/docs/api-reference/chat/create>), as far as it is
//! read. What is absent or null is as good as not said, and unknown fields are skipped.

use serde::Deserialize;
use serde_json::value::RawValue;

use super::refusal::Refusal;

/// What a program asks.
#[derive(Debug, Deserialize)]
pub(super) struct ChatRequest {
    pub(super) model: Option<String>,
    #[serde(default)]
    pub(super) messages: Vec<ChatMessage>,
    pub(super) stream: Option<bool>,
    pub(super) stream_options: Option<StreamOptions>,
    pub(super) max_tokens: Option<i64>,
    pub(super) max_completion_tokens: Option<i64>,
    pub(super) temperature: Option<f64>,
    pub(super) stop: Option<Stop>,
    pub(super) n: Option<i64>,
    pub(super) logprobs: Option<bool>,
    pub(super) response_format: Option<ResponseFormat>,
    pub(super) tools: Option<Vec<ToolDefinition>>,
    pub(super) tool_choice: Option<ChoiceOfTool>,
    pub(super) functions: Option<Box<RawValue>>,
    pub(super) audio: Option<Box<RawValue>>,
    pub(super) modalities: Option<Vec<String>>,
}

#[derive(Debug, Deserialize)]
pub(super) struct StreamOptions {
    pub(super) include_usage: Option<bool>,
}

#[derive(Debug, Deserialize)]
pub(super) struct ResponseFormat {
    #[serde(rename = "type")]
    pub(super) kind: String,
}

/// Texts before which the model is to stop.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Stop {
    One(String),
    Several(Vec<String>),
}

/// A tool that the program runs itself.
#[derive(Debug, Deserialize)]
pub(super) struct ToolDefinition {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) function: Option<FunctionDefinition>,
}

#[derive(Debug, Deserialize)]
pub(super) struct FunctionDefinition {
    pub(super) name: String,
    pub(super) description: Option<String>,
    /// JSON Schema.
    pub(super) parameters: Option<Box<RawValue>>,
}

/// Whether the model may call tools.
#[derive(Debug, Deserialize)]
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

#[derive(Debug, Deserialize)]
pub(super) struct FunctionName {
    pub(super) name: String,
}

/// An entry of the history.
#[derive(Debug, Deserialize)]
pub(super) struct ChatMessage {
    pub(super) role: String,
    pub(super) content: Option<Content>,
    pub(super) tool_calls: Option<Vec<ToolCall>>,
    pub(super) tool_call_id: Option<String>,
}

/// What a message says.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Debug, Deserialize)]
pub(super) struct ContentPart {
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) text: Option<String>,
}

/// A call that an assistant's message asks for.
#[derive(Debug, Deserialize)]
pub(super) struct ToolCall {
    pub(super) id: String,
    pub(super) function: Function,
}

#[derive(Debug, Deserialize)]
pub(super) struct Function {
    pub(super) name: String,
    /// JSON as text, as the model wrote it.
    pub(super) arguments: String,
}

/// Reads a body, and says which field is not what it must be.
pub(super) fn read(body: &str) -> Result<ChatRequest, Refusal> {
    read_as(body, "chat completion request")
}

/// Reads a body that is to be such a thing.
pub(super) fn read_as<'a, T: Deserialize<'a>>(body: &'a str, thing: &str) -> Result<T, Refusal> {
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

/// Reads JSON. What is wrong with it is told with its place, where that is not the whole.
fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, (Option<String>, String)> {
    let mut json = serde_json::Deserializer::from_str(json);
    serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        (Some(path).filter(|path| path != "."), error.into_inner().to_string())
    })
}
