//! Parses the request body of `POST /v1/responses` (<https://platform.openai.com/docs/api-reference/responses/create>).
//! Fields that are null count as absent, and unknown fields are ignored.

use std::collections::HashMap;

use actix_web::http::{StatusCode, header::HeaderMap};
use serde::Deserialize;
use serde_json::value::RawValue;
use tallybook_conversations::{
    ApiClient, ApiClientRequest, Chaining, ClientCall, ClientInput, ResponseInput, models::PermittedModels,
};
use tallybook_llm::{Sampling, ToolChoice};
use tallybook_protocol::{MessageId, first_chars};
use tallybook_tools::is_tool_name;
use utoipa::{
    ToSchema,
    openapi::{Array, Object, OneOfBuilder, Ref, Schema, schema::Type},
};

use crate::http::openai::{
    attachments::NewAttachment,
    conversation::ParsedConversation,
    error::Refusal,
    parse::{at_least_one, chat_id, check_temperature, direct_weight, is_task, model, refuse_client_tools},
    request::{ChoiceOfTool, FunctionDefinition, ResponseFormat, is_set, nothing, off, parse_body},
    responses::items::{self, full_name},
    tools,
};

/// A request for a response.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct ResponseRequest {
    /// Name of a model in `GET /v1/models`. Absent: the default model.
    pub(crate) model: Option<String>,
    /// A text, or a list of [`InputItem`].
    #[schema(schema_with = text_or_items)]
    pub(crate) input: Option<Box<RawValue>>,
    pub(crate) instructions: Option<String>,
    /// Id of the response to continue from.
    pub(crate) previous_response_id: Option<String>,
    pub(crate) store: Option<bool>,
    pub(crate) stream: Option<bool>,
    #[schema(minimum = 1)]
    pub(crate) max_output_tokens: Option<i64>,
    #[schema(minimum = 0, maximum = 2)]
    pub(crate) temperature: Option<f64>,
    /// Tools that the client runs itself, in addition to Tallybook's.
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

/// A tool: a function of the client, a namespace of several functions, or a tool that only OpenAI runs, which is
/// ignored.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = ResponseTool)]
pub(crate) struct ToolDefinition {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) name: Option<String>,
    /// Functions of a namespace.
    #[schema(no_recursion)]
    pub(crate) tools: Option<Vec<Self>>,
    pub(crate) description: Option<String>,
    /// JSON Schema.
    #[schema(value_type = Option<Object>)]
    pub(crate) parameters: Option<Box<RawValue>>,
}

fn text_or_items() -> Schema {
    let items = Array::new(Ref::from_schema_name("ResponseInputItem"));
    OneOfBuilder::new().item(Object::with_type(Type::String)).item(items).build().into()
}

/// Prefix of every response id.
pub(crate) const ID_PREFIX: &str = "resp_";

/// Headers that name a conversation. Codex names its session in the last one.
const CHAT_IDS: [&str; 3] = ["X-Tallybook-Conversation", "X-OpenWebUI-Chat-Id", "Session-Id"];

/// Properties of the request that the response repeats.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repeated {
    /// Name of the model as the client wrote it.
    pub(crate) model: String,
    pub(crate) previous_response_id: Option<String>,
    /// `true` if later requests can name this response as their previous one.
    pub(crate) store: bool,
    pub(crate) max_output_tokens: Option<u32>,
    pub(crate) temperature: Option<f64>,
    pub(crate) tool_choice: ToolChoice,
    /// Namespace and name of each function in a namespace, by the full name that the model receives.
    pub(crate) names: HashMap<String, (String, String)>,
}

impl Repeated {
    /// Returns the namespace and the name of a call's function as the client knows them.
    pub(crate) fn name_of<'a>(&'a self, call: &'a ClientCall) -> (Option<&'a str>, &'a str) {
        let named = self.names.get(&call.name);
        named.map_or((None, &call.name), |(namespace, name)| (Some(namespace), name))
    }
}

/// Parses a request of `api_client`, as [`parse_chat_request`](crate::http::openai::parse::parse_chat_request) does.
/// Also returns the properties that the response repeats, and whether it is streamed.
pub(crate) fn parse_response_request(
    body: &str,
    headers: &HeaderMap,
    api_client: ApiClient,
    models: &PermittedModels,
) -> Result<(ApiClientRequest, Vec<NewAttachment>, Repeated, bool), Refusal> {
    let request: ResponseRequest = parse_body(body, "response request")?;
    refuse_unsupported(&request)?;
    let max_output_tokens = at_least_one("max_output_tokens", request.max_output_tokens)?;
    check_temperature(request.temperature)?;
    let sampling = Sampling { max_tokens: max_output_tokens, temperature: request.temperature, stop: Vec::new() };
    let is_stream = request.stream.unwrap_or(false);
    let (name, model, is_direct) = model(request.model, models)?;
    let (functions, names) = functions_of(request.tools.unwrap_or_default());
    let tools = tools::read_functions(functions)?;
    let tool_choice = tools::choice(request.tool_choice, &tools)?;
    refuse_client_tools(is_direct, &tools)?;
    let previous = request.previous_response_id.as_deref().map(|id| message_of(id).ok_or_else(|| no_previous(id)));
    let previous = previous.transpose()?;
    let Some(input) = request.input else {
        return Err(Refusal::bad("input", "input is missing. Send a question, or a list of items."));
    };
    let parsed = items::read(&input, previous.is_some())?;
    let is_task = is_task(headers, &parsed, is_stream);
    let is_direct = is_direct || is_task;
    if is_direct && previous.is_some() {
        let message =
            "A direct model call has no previous response. Leave previous_response_id out, or call the agent.";
        return Err(Refusal::bad("previous_response_id", message));
    }
    let store = request.store.unwrap_or(true) && !is_direct;
    let repeated = Repeated {
        model: name,
        previous_response_id: request.previous_response_id,
        store,
        max_output_tokens,
        temperature: request.temperature,
        tool_choice: tool_choice.clone(),
        names,
    };
    let ParsedConversation { input: ClientInput { system, messages, .. }, question, attachments, .. } = parsed;
    let kept = store.then(|| ResponseInput { system: system.clone(), messages: messages.clone() });
    let instructions = request.instructions.filter(|text| !text.is_empty());
    let system = instructions.into_iter().chain(system).collect();
    let input = ClientInput { messages, system, sampling, tools, tool_choice };
    let new = ApiClientRequest {
        direct: direct_weight(is_direct, is_task),
        chat_id: chat_id(headers, &CHAT_IDS)?,
        chaining: Chaining { previous, kept },
        ..ApiClientRequest::new(api_client, model, question, input)
    };
    Ok((new, attachments, repeated, is_stream))
}

/// Returns the answer with this response id; `None` if the id is malformed.
pub(crate) fn message_of(id: &str) -> Option<MessageId> {
    let number = id.strip_prefix(ID_PREFIX)?;
    let message_id = MessageId(number.parse().ok()?);
    // Accepts an id only in the form in which the server writes it.
    (message_id.to_string() == number).then_some(message_id)
}

/// Returns the refusal of a previous response that does not exist or is not available to this client, in OpenAI's form.
pub(crate) fn no_previous(id: &str) -> Refusal {
    let shown: String = first_chars(id, 100).to_owned();
    Refusal {
        status: StatusCode::BAD_REQUEST,
        code: Some("previous_response_not_found".to_owned()),
        ..Refusal::bad("previous_response_id", format!("Previous response with id {shown:?} not found."))
    }
}

/// The functions, each with the parameter that contains it; and the namespace and name of each function in a namespace,
/// by its full name.
type Functions = (Vec<(String, FunctionDefinition)>, HashMap<String, (String, String)>);

/// Returns the functions among the tools. Skips tools that OpenAI would run, because clients send them by default.
/// Skips a function in a namespace if its full name is not a valid tool name.
fn functions_of(definitions: Vec<ToolDefinition>) -> Functions {
    let (mut functions, mut names) = (Vec::new(), HashMap::new());
    for (at, definition) in definitions.into_iter().enumerate() {
        match definition.kind.as_str() {
            "function" => functions.push((format!("tools[{at}]"), function(definition))),
            "namespace" => {
                let namespace = definition.name.unwrap_or_default();
                for (place, tool) in definition.tools.unwrap_or_default().into_iter().enumerate() {
                    let mut function = function(tool);
                    let full = full_name(&namespace, &function.name);
                    if !is_tool_name(&full) {
                        continue;
                    }
                    names.insert(full.clone(), (namespace.clone(), std::mem::replace(&mut function.name, full)));
                    functions.push((format!("tools[{at}].tools[{place}]"), function));
                }
            }
            _ => {}
        }
    }
    (functions, names)
}

fn function(definition: ToolDefinition) -> FunctionDefinition {
    let ToolDefinition { name, description, parameters, .. } = definition;
    FunctionDefinition { name: name.unwrap_or_default(), description, parameters }
}

fn refuse_unsupported(request: &ResponseRequest) -> Result<(), Refusal> {
    let format = request.text.as_ref().and_then(|text| text.format.as_ref());
    let (param, message) = if request.background == Some(true) {
        ("background", "Background responses are not supported. Leave background out.")
    } else if is_set(request.conversation.as_deref()) {
        ("conversation", "conversation is not supported. Continue from a response with previous_response_id.")
    } else if is_set(request.prompt.as_deref()) {
        ("prompt", "Stored prompts are not supported. Send instructions and input.")
    } else if format.is_some_and(|format| format.kind != "text") {
        ("text.format", "Only text answers are supported. Leave text.format out, or send {\"type\": \"text\"}.")
    } else {
        return Ok(());
    };
    Err(Refusal::bad(param, message))
}

#[cfg(test)]
mod tests {
    use tallybook_protocol::MessageId;

    use crate::http::openai::responses::request::message_of;

    #[test]
    fn only_response_ids_are_parsed() {
        assert_eq!(message_of("resp_12"), Some(MessageId(12)));
        for other in ["", "resp_", "12", "resp_012", "resp_+12", "resp_12 ", "resp_abc", "msg_12"] {
            assert_eq!(message_of(other), None, "{other}");
        }
    }
}
