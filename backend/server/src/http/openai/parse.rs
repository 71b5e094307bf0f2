//! Parses a chat completion request: the model and its settings, the messages, and the client's conversation.

use actix_web::http::{StatusCode, header::HeaderMap};
use tallybook_conversations::{
    ApiClient, ApiClientRequest, ClientInput, ClientTool, ServiceError, Weight, models::PermittedModels,
};
use tallybook_llm::{Sampling, ToolCallRequest};
use tallybook_protocol::{MessagePart, first_chars};

use crate::http::openai::{
    attachments::NewAttachment,
    conversation::{ConversationParser, ParsedConversation, text_of},
    error::Refusal,
    request::{
        ChatMessage, ChatRequest, Content, ContentPart, MAX_CHAT_ID_CHARS, MAX_MESSAGES, MAX_STOP_BYTES, MAX_STOPS,
        Stop, ToolCall, is_set, parse_body,
    },
    tools,
};

/// Suffix of a model name that asks for a direct model call, without the agent and its tools.
pub(crate) const DIRECT_SUFFIX: &str = ":plain";

/// Prefix of the messages with which `Open WebUI` asks for background tasks such as titles.
const TASK_PREFIX: &str = "### Task:";

/// Headers that name a conversation.
const CHAT_IDS: [&str; 2] = ["X-Tallybook-Conversation", "X-OpenWebUI-Chat-Id"];

/// Options of the response.
#[derive(Debug)]
pub(crate) struct ResponseOptions {
    /// Name of the model as the client wrote it. The response repeats the name.
    pub(crate) name: String,
    /// Options of the stream; `None` if the response is not streamed.
    pub(crate) stream: Option<StreamOptions>,
}

/// Options of a stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StreamOptions {
    /// `true` to report the token usage at the end.
    pub(crate) usage: bool,
    /// `true` to report the calls of Tallybook's own tools.
    pub(crate) tools: bool,
}

/// Parses a chat completion request of `api_client`. Returns the request, whose messages refer to its images and files
/// by provisional IDs; these images and files, which must be stored first; and the options of the response.
pub(crate) fn parse_chat_request(
    body: &str,
    headers: &HeaderMap,
    api_client: ApiClient,
    models: &PermittedModels,
) -> Result<(ApiClientRequest, Vec<NewAttachment>, ResponseOptions), Refusal> {
    let request: ChatRequest = parse_body(body, "chat completion request")?;
    refuse_unsupported(&request)?;
    let sampling = sampling(&request)?;
    let is_stream = request.stream.unwrap_or(false);
    let usage = request.stream_options.and_then(|options| options.include_usage).unwrap_or(false);
    let reports_tools = header(headers, "x-tallybook-tools").is_some_and(|wanted| wanted.trim() == "events");
    let (name, model, is_direct) = model(request.model, models)?;
    let tools = tools::read(request.tools.unwrap_or_default())?;
    let tool_choice = tools::choice(request.tool_choice, &tools)?;
    refuse_client_tools(is_direct, &tools)?;
    let parsed = parse_messages(request.messages.into_iter().enumerate().collect())?;
    let direct = direct_weight(is_direct, is_task(headers, &parsed, is_stream));
    let ParsedConversation { input, question, attachments, .. } = parsed;
    let input = ClientInput { sampling, tools, tool_choice, ..input };
    let chat_id = chat_id(headers, &CHAT_IDS)?;
    let new = ApiClientRequest { direct, chat_id, ..ApiClientRequest::new(api_client, model, question, input) };
    let stream = is_stream.then_some(StreamOptions { usage, tools: reports_tools });
    Ok((new, attachments, ResponseOptions { name, stream }))
}

/// Returns the weight of a direct model call; `None` for a turn of the agent. A background task, such as writing a
/// title, is always a direct model call, and counts for less.
pub(crate) fn direct_weight(is_direct: bool, is_task: bool) -> Option<Weight> {
    match (is_direct, is_task) {
        (_, true) => Some(Weight::Task),
        (true, false) => Some(Weight::Message),
        (false, false) => None,
    }
}

/// Refuses client tools in a direct model call.
pub(crate) fn refuse_client_tools(is_direct: bool, tools: &[ClientTool]) -> Result<(), Refusal> {
    if !is_direct || tools.is_empty() {
        return Ok(());
    }
    let message =
        "A direct model call has no tools. Leave tools out, or use the model's name without :plain to call the agent.";
    Err(Refusal::bad("tools", message))
}

/// Returns `true` if the request is a background task such as writing a title.
pub(crate) fn is_task(headers: &HeaderMap, parsed: &ParsedConversation, is_stream: bool) -> bool {
    let has_task_prefix = !is_stream
        && parsed.is_first
        && parsed.questions == 1
        && MessagePart::join_texts(&parsed.question).starts_with(TASK_PREFIX);
    has_task_prefix || header(headers, "x-tallybook-task").is_some_and(|task| !task.trim().is_empty())
}

/// Returns the model's name as the client wrote it, its name in the catalog, and whether the client asks for a direct
/// model call. A name in the catalog takes precedence over the suffix.
pub(crate) fn model(
    asked: Option<String>,
    models: &PermittedModels,
) -> Result<(String, Option<String>, bool), Refusal> {
    let Some(name) = asked.filter(|name| !name.is_empty()) else {
        let none = || Refusal {
            status: StatusCode::FORBIDDEN,
            code: Some("no_model".to_owned()),
            ..Refusal::bad("model", ServiceError::NoModel.to_string())
        };
        return Ok((models.default_model().map_err(|_| none())?.name().to_owned(), None, false));
    };
    if models.find(&name).is_some() {
        return Ok((name.clone(), Some(name), false));
    }
    match name.strip_suffix(DIRECT_SUFFIX).filter(|bare| models.find(bare).is_some()) {
        Some(bare) => Ok((name.clone(), Some(bare.to_owned()), true)),
        None => Err(no_such_model(&name, models)),
    }
}

/// Returns the refusal of a model that does not exist.
pub(crate) fn no_such_model(name: &str, models: &PermittedModels) -> Refusal {
    let shown: String = first_chars(name, 100).to_owned();
    Refusal {
        status: StatusCode::NOT_FOUND,
        code: Some("model_not_found".to_owned()),
        ..Refusal::bad("model", format!("There is no model {shown:?}. There are: {}.", models.names()))
    }
}

fn refuse_unsupported(request: &ChatRequest) -> Result<(), Refusal> {
    let is_text = request.response_format.as_ref().is_none_or(|format| format.kind == "text");
    let wants_sound = request.modalities.as_ref().is_some_and(|kinds| kinds.iter().any(|kind| kind != "text"));
    let (param, message) = if request.n.is_some_and(|n| n != 1) {
        ("n", "Only one answer per request is supported. Leave n out, or send 1.")
    } else if request.logprobs == Some(true) {
        ("logprobs", "Log probabilities are not supported. Leave logprobs out.")
    } else if is_set(request.functions.as_deref()) {
        ("functions", "functions is not supported. Use tools instead.")
    } else if !is_text {
        ("response_format", "Only text answers are supported. Leave response_format out, or send {\"type\": \"text\"}.")
    } else if is_set(request.audio.as_deref()) || wants_sound {
        ("audio", "Only text answers are supported. Leave audio and modalities out.")
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

/// Returns the conversation that the client names, from the first of these headers that is not empty. The value is an
/// id of the client's own, or the UUID from an earlier response.
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

/// Parses messages that come with their index in the request. Errors name this index.
pub(crate) fn parse_messages(messages: Vec<(usize, ChatMessage)>) -> Result<ParsedConversation, Refusal> {
    if messages.len() > MAX_MESSAGES {
        return Err(Refusal::bad("messages", format!("There are too many messages. Send at most {MAX_MESSAGES}.")));
    }
    let mut parser = ConversationParser::new("messages", false);
    for (at, message) in messages {
        let ChatMessage { role, content, refusal, tool_calls, tool_call_id } = message;
        let kinds: &[&str] = if role == "assistant" { &["text", ContentPart::REFUSAL] } else { &["text"] };
        let place = format!("messages[{at}].content");
        if role == "user" {
            parser.user(&place, content, kinds)?;
            continue;
        }
        let text = text_of(&place, content, kinds)?;
        match role.as_str() {
            "system" | "developer" => parser.system(text)?,
            "assistant" => {
                let calls = tool_calls.unwrap_or_default().into_iter().map(|ToolCall { id, function }| {
                    ToolCallRequest { id, name: function.name, input_text: function.arguments, written_by: None }
                });
                let refusal = text_of(&format!("messages[{at}].refusal"), refusal.map(Content::Text), &[])?;
                let parsed = with_refusal(text, &refusal);
                parser.answer(format!("messages[{at}].tool_calls"), &parsed, calls.collect())?;
            }
            "tool" => {
                parser.result(format!("messages[{at}].tool_call_id"), tool_call_id.unwrap_or_default(), text)?;
            }
            _ => {
                let message = format!("The role {role:?} is unknown. Use system, developer, user, assistant or tool.");
                return Err(Refusal::bad(format!("messages[{at}].role"), message));
            }
        }
    }
    parser.end()
}

/// Returns an assistant's text followed by its refusal, if the message has one.
fn with_refusal(text: String, refusal: &str) -> String {
    match (text.is_empty(), refusal.is_empty()) {
        (_, true) => text,
        (true, false) => refusal.to_owned(),
        (false, false) => format!("{text}\n\n{refusal}"),
    }
}

#[cfg(test)]
mod tests {
    use tallybook_llm::{AssistantBlock, ModelMessage};

    use crate::http::openai::{
        parse::parse_messages,
        request::{ChatRequest, parse_body},
    };

    fn history(messages: &str) -> Result<Vec<ModelMessage>, (String, String)> {
        let body = format!(r#"{{"messages":{messages}}}"#);
        let request = parse_body::<ChatRequest>(&body, "chat completion request");
        let parsed = request.and_then(|request| parse_messages(request.messages.into_iter().enumerate().collect()));
        parsed
            .map(|parsed| parsed.input.messages)
            .map_err(|refusal| (refusal.param.unwrap_or_default(), refusal.message))
    }

    #[test]
    fn a_client_may_send_its_own_calls_if_each_has_its_result() {
        let user = r#"{"role":"user","content":"q"}"#;
        let call =
            |id: &str| format!(r#"{{"id":"{id}","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}"#);
        let asks = format!(r#"{{"role":"assistant","content":null,"tool_calls":[{},{}]}}"#, call("a"), call("b"));
        let result = |id: &str| format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"{id}!"}}"#);
        let whole = history(&format!("[{user},{asks},{},{}]", result("b"), result("a"))).unwrap();
        let [_, ModelMessage::Assistant(blocks), ModelMessage::ToolResults(results)] = &whole[..] else {
            panic!("{whole:?}")
        };
        assert_eq!(blocks.len(), 2);
        let results: Vec<&str> = results.iter().map(|result| result.content.as_str()).collect();
        assert_eq!(results, ["a!", "b!"], "in the order of the calls");
        let missing = history(&format!("[{user},{asks},{},{user}]", result("a"))).unwrap_err();
        assert!(missing.0 == "messages[1].tool_calls" && missing.1.contains("\"b\" is missing"), "{missing:?}");
        let stray = history(&format!("[{user},{}]", result("x"))).unwrap_err();
        assert_eq!(stray.0, "messages[1].tool_call_id");
    }

    #[test]
    fn a_refusal_is_the_assistants_text() {
        let user = r#"{"role":"user","content":"q"}"#;
        for (assistant, expected) in [
            (r#"{"role":"assistant","content":null,"refusal":"I decline."}"#, "I decline."),
            (r#"{"role":"assistant","refusal":"I decline."}"#, "I decline."),
            (r#"{"role":"assistant","content":"Well.","refusal":"I decline."}"#, "Well.\n\nI decline."),
            (r#"{"role":"assistant","content":"Well.","refusal":null}"#, "Well."),
            (r#"{"role":"assistant","content":[{"type":"refusal","refusal":"I decline."}]}"#, "I decline."),
            (
                r#"{"role":"assistant","content":[{"type":"text","text":"Well."},{"type":"refusal","refusal":"No."}]}"#,
                "Well.\n\nNo.",
            ),
        ] {
            let messages = history(&format!("[{user},{assistant},{user}]")).unwrap();
            let ModelMessage::Assistant(blocks) = &messages[1] else { panic!("{messages:?}") };
            let [AssistantBlock::Text { text }] = &blocks[..] else { panic!("{blocks:?}") };
            assert_eq!(text, expected);
        }
        let by_user = history(r#"[{"role":"user","content":[{"type":"refusal","refusal":"No."}]}]"#).unwrap_err();
        assert_eq!(by_user.0, "messages[0].content[0]");
        let nul = format!(r#"[{user},{{"role":"assistant","refusal":"a\u0000b"}},{user}]"#);
        assert_eq!(history(&nul).unwrap_err().0, "messages[1].refusal");
    }

    #[test]
    fn unsupported_content_is_refused_with_its_position() {
        for (messages, param) in [
            ("[]", "messages"),
            (r#"[{"role":"system","content":"s"}]"#, "messages"),
            (r#"[{"role":"user","content":" "}]"#, "messages"),
            (r#"[{"role":"user","content":"a\u0000b"}]"#, "messages[0].content"),
            (r#"[{"role":"wizard","content":"x"}]"#, "messages[0].role"),
            (r#"[{"content":"x"}]"#, "messages[0]"),
            (r#"[{"role":"user","content":7}]"#, "messages[0].content"),
            (
                r#"[{"role":"user","content":[{"type":"text","text":"x"},{"type":"image_url"}]}]"#,
                "messages[0].content[1]",
            ),
            (r#"[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]"#, "messages"),
        ] {
            assert_eq!(history(messages).unwrap_err().0, param, "{messages}");
        }
    }
}
