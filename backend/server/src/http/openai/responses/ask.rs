//! Parses a Responses API request: the same as for a chat completion, and the previous response.

use std::collections::HashMap;

use actix_web::http::{StatusCode, header::HeaderMap};
use tallybook_conversations::{Chaining, ClientCall, GivenInput, ResponseInput, models::Catalog};
use tallybook_llm::{Sampling, ToolChoice};
use tallybook_protocol::MessageId;
use tallybook_tools::is_tool_name;

use super::{
    super::{
        ask::{Asked, StreamWish, at_least_one, chat_id, check_temperature, is_task, model, refuse_plain_tools},
        conversation::ParsedConversation,
        refusal::Refusal,
        tools,
        wire::{self, FunctionDefinition, is_there},
    },
    items::{self, full_name},
    wire::{ResponseRequest, ToolDefinition},
};

/// Prefix of every response id.
pub(crate) const ID_BEGIN: &str = "resp_";

/// Headers that name a conversation. Codex names its session in the last one.
const CHAT_IDS: [&str; 3] = ["X-Tallybook-Conversation", "X-OpenWebUI-Chat-Id", "Session-Id"];

/// Properties of the request that the response repeats.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repeated {
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

/// Parses a request.
pub(crate) fn read(body: &str, headers: &HeaderMap, models: &Catalog) -> Result<(Asked, Repeated), Refusal> {
    let request: ResponseRequest = wire::read_as(body, "response request")?;
    refuse_what_cannot_be(&request)?;
    let max_output_tokens = at_least_one("max_output_tokens", request.max_output_tokens)?;
    check_temperature(request.temperature)?;
    let sampling = Sampling { max_tokens: max_output_tokens, temperature: request.temperature, stop: Vec::new() };
    let is_stream = request.stream.unwrap_or(false);
    let (name, model, is_plain) = model(request.model, models)?;
    let (functions, names) = functions_of(request.tools.unwrap_or_default());
    let tools = tools::read_functions(functions)?;
    let tool_choice = tools::choice(request.tool_choice, &tools)?;
    refuse_plain_tools(is_plain, &tools)?;
    let previous = request.previous_response_id.as_deref().map(|id| message_of(id).ok_or_else(|| no_previous(id)));
    let previous = previous.transpose()?;
    let Some(input) = request.input else {
        return Err(Refusal::bad("input", "There is no input. Send a question, or a list of items."));
    };
    let said = items::read(&input, previous.is_some())?;
    let is_task = is_task(headers, &said, is_stream);
    let is_plain = is_plain || is_task;
    if is_plain && previous.is_some() {
        let message =
            "A model that is asked plainly goes on from nothing. Leave previous_response_id out, or ask the agent.";
        return Err(Refusal::bad("previous_response_id", message));
    }
    let store = request.store.unwrap_or(true) && !is_plain;
    let repeated = Repeated {
        previous_response_id: request.previous_response_id,
        store,
        max_output_tokens,
        temperature: request.temperature,
        tool_choice: tool_choice.clone(),
        names,
    };
    let ParsedConversation { system, history, question, .. } = said;
    let kept = store.then(|| ResponseInput { system: system.clone(), messages: history.clone() });
    let instructions = request.instructions.filter(|text| !text.is_empty());
    let system = instructions.into_iter().chain(system).collect();
    let asked = Asked {
        name,
        model,
        is_plain,
        is_task,
        stream: is_stream.then_some(StreamWish { usage: true, tools: false }),
        chat_id: chat_id(headers, &CHAT_IDS)?,
        question,
        input: GivenInput { messages: history, system, sampling, tools, tool_choice },
        chaining: Chaining { previous, kept },
    };
    Ok((asked, repeated))
}

/// Returns the answer with this response id; `None` if the id is malformed.
pub(crate) fn message_of(id: &str) -> Option<MessageId> {
    let number = id.strip_prefix(ID_BEGIN)?;
    let message_id = MessageId(number.parse().ok()?);
    // Accepts an id only in the form in which the server writes it.
    (message_id.to_string() == number).then_some(message_id)
}

/// Returns the refusal of a previous response that does not exist or is not available to this client, in OpenAI's form.
pub(crate) fn no_previous(id: &str) -> Refusal {
    let shown: String = id.chars().take(100).collect();
    Refusal {
        status: StatusCode::BAD_REQUEST,
        code: Some("previous_response_not_found".to_owned()),
        ..Refusal::bad("previous_response_id", format!("Previous response with id {shown:?} not found."))
    }
}

/// Functions with the parameters that contain them, and the namespaces and names of functions in a namespace.
type Functions = (Vec<(String, FunctionDefinition)>, HashMap<String, (String, String)>);

/// Returns the functions among the tools. The tools that OpenAI would run are skipped, because clients send them unasked. A
/// function in a namespace is skipped if its full name is not a valid tool name.
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

fn refuse_what_cannot_be(request: &ResponseRequest) -> Result<(), Refusal> {
    let format = request.text.as_ref().and_then(|text| text.format.as_ref());
    let (param, message) = if request.background == Some(true) {
        ("background", "Answers are made while their program waits. Leave background out.")
    } else if is_there(request.conversation.as_deref()) {
        ("conversation", "Conversations of that kind are not kept. Go on from an answer with previous_response_id.")
    } else if is_there(request.prompt.as_deref()) {
        ("prompt", "Prompts are not kept here. Send instructions and input.")
    } else if format.is_some_and(|format| format.kind != "text") {
        ("text.format", "Answers are text. Leave text.format out, or send {\"type\": \"text\"}.")
    } else {
        return Ok(());
    };
    Err(Refusal::bad(param, message))
}

#[cfg(test)]
mod tests {
    use tallybook_protocol::MessageId;

    use super::message_of;

    #[test]
    fn an_id_is_that_of_an_answer_and_nothing_else_is_one() {
        assert_eq!(message_of("resp_12"), Some(MessageId(12)));
        for other in ["", "resp_", "12", "resp_012", "resp_+12", "resp_12 ", "resp_abc", "msg_12"] {
            assert_eq!(message_of(other), None, "{other}");
        }
    }
}
