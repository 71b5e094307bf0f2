//! Parses a chat completion request: the model and its settings, the messages, and the client's conversation.

use actix_web::http::{StatusCode, header::HeaderMap};
use tallybook_conversations::{Chaining, ClientTool, GivenInput, models::Catalog};
use tallybook_llm::Sampling;

use super::{
    conversation::ParsedConversation,
    limits::{MAX_CHAT_ID_CHARS, MAX_STOP_BYTES, MAX_STOPS},
    messages,
    refusal::Refusal,
    tools,
    wire::{self, ChatRequest, Stop, is_there},
};

/// Suffix of a model name that asks for a direct model call, without the agent and its tools.
pub(crate) const PLAIN: &str = ":plain";

/// Prefix of the messages with which `Open WebUI` asks for background tasks such as titles.
const TASK_BEGIN: &str = "### Task:";

/// Headers that name a conversation.
const CHAT_IDS: [&str; 2] = ["X-Tallybook-Conversation", "X-OpenWebUI-Chat-Id"];

/// A parsed request for an answer.
#[derive(Debug)]
pub(crate) struct Asked {
    /// Name of the model as the client wrote it. The response repeats the name.
    pub(crate) name: String,
    /// Name of the model in the catalog; `None` for the default model.
    pub(crate) model: Option<String>,
    /// `true` for a direct model call, without tools and without a conversation.
    pub(crate) is_plain: bool,
    /// `true` for a background task, such as writing a title, which counts for less.
    pub(crate) is_task: bool,
    /// Options of the stream; `None` if the response is not streamed.
    pub(crate) stream: Option<StreamWish>,
    pub(crate) chat_id: Option<String>,
    pub(crate) question: String,
    pub(crate) input: GivenInput,
    pub(crate) chaining: Chaining,
}

/// Options of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamWish {
    /// `true` to report the token usage at the end.
    pub(crate) usage: bool,
    /// `true` to report the calls of Tallybook's own tools.
    pub(crate) tools: bool,
}

/// Parses a request.
pub(crate) fn read(body: &str, headers: &HeaderMap, models: &Catalog) -> Result<Asked, Refusal> {
    let request = wire::read(body)?;
    refuse_what_cannot_be(&request)?;
    let sampling = sampling(&request)?;
    let is_stream = request.stream.unwrap_or(false);
    let usage = request.stream_options.and_then(|options| options.include_usage).unwrap_or(false);
    let tells_tools = header(headers, "x-tallybook-tools").is_some_and(|wanted| wanted.trim() == "events");
    let (name, model, is_plain) = model(request.model, models)?;
    let tools = tools::read(request.tools.unwrap_or_default())?;
    let tool_choice = tools::choice(request.tool_choice, &tools)?;
    refuse_plain_tools(is_plain, &tools)?;
    let said = messages::read(request.messages)?;
    let is_task = is_task(headers, &said, is_stream);
    let is_plain = is_plain || is_task;
    let ParsedConversation { system, history, question, .. } = said;
    Ok(Asked {
        name,
        model,
        is_plain,
        is_task,
        stream: is_stream.then_some(StreamWish { usage, tools: tells_tools }),
        chat_id: chat_id(headers, &CHAT_IDS)?,
        question,
        input: GivenInput { messages: history, system, sampling, tools, tool_choice },
        chaining: Chaining::default(),
    })
}

/// Refuses client tools in a direct model call.
pub(crate) fn refuse_plain_tools(is_plain: bool, tools: &[ClientTool]) -> Result<(), Refusal> {
    if !is_plain || tools.is_empty() {
        return Ok(());
    }
    let message =
        "A model that is asked plainly calls no tools. Leave tools out, or ask the agent: its name without :plain.";
    Err(Refusal::bad("tools", message))
}

/// Returns `true` if the request is a background task such as writing a title.
pub(crate) fn is_task(headers: &HeaderMap, said: &ParsedConversation, is_stream: bool) -> bool {
    let looks_like_task = !is_stream && said.is_first && said.questions == 1 && said.question.starts_with(TASK_BEGIN);
    looks_like_task || header(headers, "x-tallybook-task").is_some_and(|task| !task.trim().is_empty())
}

/// Returns the model's name as the client wrote it, its name in the catalog, and whether the client asks for a direct model
/// call. A name in the catalog takes precedence over the suffix.
pub(crate) fn model(asked: Option<String>, models: &Catalog) -> Result<(String, Option<String>, bool), Refusal> {
    let Some(name) = asked.filter(|name| !name.is_empty()) else {
        return Ok((models.default_model().name().to_owned(), None, false));
    };
    if models.find(&name).is_some() {
        return Ok((name.clone(), Some(name), false));
    }
    match name.strip_suffix(PLAIN).filter(|bare| models.find(bare).is_some()) {
        Some(bare) => Ok((name.clone(), Some(bare.to_owned()), true)),
        None => Err(no_such_model(&name, models)),
    }
}

/// Returns the refusal of a model that does not exist.
pub(crate) fn no_such_model(name: &str, models: &Catalog) -> Refusal {
    let shown: String = name.chars().take(100).collect();
    Refusal {
        status: StatusCode::NOT_FOUND,
        code: Some("model_not_found".to_owned()),
        ..Refusal::bad("model", format!("There is no model {shown:?}. There are: {}.", models.names()))
    }
}

fn refuse_what_cannot_be(request: &ChatRequest) -> Result<(), Refusal> {
    let is_text = request.response_format.as_ref().is_none_or(|format| format.kind == "text");
    let wants_sound = request.modalities.as_ref().is_some_and(|kinds| kinds.iter().any(|kind| kind != "text"));
    let (param, message) = if request.n.is_some_and(|n| n != 1) {
        ("n", "One answer is given to a question. Leave n out, or send 1.")
    } else if request.logprobs == Some(true) {
        ("logprobs", "Probabilities are not told. Leave logprobs out.")
    } else if is_there(request.functions.as_deref()) {
        ("functions", "Functions of the old form are not taken. Leave functions out.")
    } else if !is_text {
        ("response_format", "Answers are text. Leave response_format out, or send {\"type\": \"text\"}.")
    } else if is_there(request.audio.as_deref()) || wants_sound {
        ("audio", "Answers are text. Leave audio and modalities out.")
    } else {
        return Ok(());
    };
    Err(Refusal::bad(param, message))
}

fn sampling(request: &ChatRequest) -> Result<Sampling, Refusal> {
    let mut max_tokens = None;
    for (param, tokens) in
        [("max_tokens", request.max_tokens), ("max_completion_tokens", request.max_completion_tokens)]
    {
        let Some(tokens) = at_least_one(param, tokens)? else { continue };
        max_tokens = Some(max_tokens.map_or(tokens, |other: u32| other.min(tokens)));
    }
    check_temperature(request.temperature)?;
    let stop = match &request.stop {
        None => Vec::new(),
        Some(Stop::One(text)) => vec![text.clone()],
        Some(Stop::Several(texts)) => texts.clone(),
    };
    let fits = stop.len() <= MAX_STOPS && stop.iter().all(|text| (1..=MAX_STOP_BYTES).contains(&text.len()));
    if !fits {
        let message = format!("stop must be at most {MAX_STOPS} texts of 1 to {MAX_STOP_BYTES} bytes.");
        return Err(Refusal::bad("stop", message));
    }
    Ok(Sampling { max_tokens, temperature: request.temperature, stop })
}

/// Returns a maximum number of tokens. Refuses values below 1; `u32::MAX` replaces larger values.
pub(crate) fn at_least_one(param: &str, tokens: Option<i64>) -> Result<Option<u32>, Refusal> {
    if tokens.is_some_and(|tokens| tokens < 1) {
        return Err(Refusal::bad(param, format!("{param} must be at least 1.")));
    }
    Ok(tokens.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX)))
}

pub(crate) fn check_temperature(temperature: Option<f64>) -> Result<(), Refusal> {
    if temperature.is_some_and(|value| !(0.0..=2.0).contains(&value)) {
        return Err(Refusal::bad("temperature", "temperature must be a number from 0 to 2."));
    }
    Ok(())
}

/// Returns the conversation that the client names, from the first of these headers that is not empty. The value is an id of the
/// client's own, or the UUID from an earlier response.
pub(crate) fn chat_id(headers: &HeaderMap, names: &[&str]) -> Result<Option<String>, Refusal> {
    for name in names {
        let Some(id) = header(headers, name).map(str::trim).filter(|id| !id.is_empty()) else { continue };
        if id.chars().count() > MAX_CHAT_ID_CHARS {
            let message = format!("The header {name} is too long. Use at most {MAX_CHAT_ID_CHARS} characters.");
            return Err(Refusal::bad(*name, message));
        }
        return Ok(Some(id.to_owned()));
    }
    Ok(None)
}

/// Returns a header's text; `None` if the header is absent or not UTF-8.
fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    std::str::from_utf8(headers.get(name)?.as_bytes()).ok()
}
