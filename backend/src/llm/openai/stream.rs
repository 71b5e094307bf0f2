//! An answer as Chat Completions streams it (<https://platform.openai.com/docs/api-reference/chat-streaming>), read
//! chunk by chunk. Many servers speak this format, each with an accent; what they are known to do differently is
//! tolerated here and named where it is.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tallybook_protocol::{Usage, sse::Frame};

use super::reasoning::Reasoning;
use crate::llm::{
    ModelError, ModelEvent, StopReason, http_error,
    reader::{MOST_BLOCKS, PendingCall, Room, StreamReader, bad_stream, finish, tokens, unknown_stop_reason},
};

/// Reads one answer.
pub(in crate::llm) struct Reader {
    model: String,
    /// Calls in the order in which they began.
    calls: Vec<Indexed>,
    finish_reason: Option<StopReason>,
    refused: bool,
    reasoning: Reasoning,
    usage: Usage,
    room: Room,
}

/// A call that is being written, under the index that its fragments carry.
struct Indexed {
    index: u64,
    call: PendingCall,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    usage: Option<Value>,
    error: Option<Value>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    index: Option<u64>,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    finish_reason: Option<String>,
}

/// What is new.
#[derive(Deserialize)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<&'a RawValue>,
    refusal: Option<String>,
    #[serde(borrow)]
    reasoning_details: Option<&'a RawValue>,
    #[serde(borrow)]
    reasoning_content: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<Vec<CallDelta<'a>>>,
}

#[derive(Deserialize)]
struct CallDelta<'a> {
    index: Option<u64>,
    id: Option<String>,
    #[serde(borrow)]
    function: Option<FunctionDelta<'a>>,
}

#[derive(Deserialize)]
struct FunctionDelta<'a> {
    name: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// Content is a string almost everywhere; a list of parts where a model writes several kinds.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<Part>),
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
}

impl Reader {
    pub(in crate::llm) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            calls: Vec::new(),
            finish_reason: None,
            refused: false,
            reasoning: Reasoning::default(),
            usage: Usage::default(),
            room: Room::default(),
        }
    }

    fn choice(&mut self, choice: Choice<'_>, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if let Some(delta) = choice.delta {
            if let Some(content) = delta.content {
                let text = match parse(content.get())? {
                    Content::Text(text) => text,
                    Content::Parts(parts) => parts.into_iter().map(|part| part.text).collect(),
                    Content::Other(_) => String::new(),
                };
                self.text(text, events)?;
            }
            if let Some(words) = delta.refusal.filter(|words| !words.is_empty()) {
                self.refused = true;
                self.text(words, events)?;
            }
            if let Some(details) = delta.reasoning_details {
                self.reasoning.add_details(details, &mut self.room)?;
            }
            if let Some(content) = delta.reasoning_content {
                self.reasoning.add_content(content, &mut self.room)?;
            }
            for call in delta.tool_calls.unwrap_or_default() {
                self.call(call)?;
            }
        }
        match choice.finish_reason.as_deref() {
            None | Some("") => Ok(()),
            Some("error") => Err(bad_stream("the provider reports an error without saying which")),
            Some(word) => {
                self.finish_reason = Some(stop_reason(word));
                Ok(())
            }
        }
    }

    fn text(&mut self, text: String, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        self.room.take(&text)?;
        if !text.is_empty() {
            events.push(ModelEvent::TextDelta(text));
        }
        Ok(())
    }

    fn call(&mut self, delta: CallDelta<'_>) -> Result<(), ModelError> {
        let id = delta.id.unwrap_or_default();
        let function = delta.function.unwrap_or(FunctionDelta { name: None, arguments: None });
        let name = function.name.unwrap_or_default();
        let arguments = function.arguments.map(fragment).transpose()?.unwrap_or_default();
        for text in [&id, &name, &arguments] {
            self.room.take(text)?;
        }
        let call = self.entry(delta.index, &id, &name)?;
        // Servers repeat id and name in later fragments, so they are set once and never joined.
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        call.input.push_str(&arguments);
        Ok(())
    }

    /// The call that a fragment belongs to. Without an index it is the last one, unless the fragment begins another.
    /// Gemini's server gives every call the index 0; there a new id with a name begins another.
    fn entry(&mut self, index: Option<u64>, id: &str, name: &str) -> Result<&mut PendingCall, ModelError> {
        let same_index = |one: &Indexed| index.is_none_or(|index| one.index == index);
        let found = self.calls.iter().rposition(same_index).filter(|at| {
            let call = &self.calls[*at].call;
            let begins_another = !name.is_empty() && if id.is_empty() { index.is_none() } else { call.id != id };
            !begins_another || (call.id.is_empty() && call.name.is_empty())
        });
        let at = match found {
            Some(at) => at,
            None if self.calls.len() >= MOST_BLOCKS => {
                return Err(bad_stream(format!("it has more than {MOST_BLOCKS} tool calls")));
            }
            None => {
                let index = index.unwrap_or(self.calls.len() as u64);
                self.calls.push(Indexed { index, call: PendingCall::default() });
                self.calls.len() - 1
            }
        };
        Ok(&mut self.calls[at].call)
    }

    fn end(&mut self, said: StopReason) -> Vec<ModelEvent> {
        let stop_reason = if self.refused { StopReason::Refusal } else { said };
        let calls = std::mem::take(&mut self.calls).into_iter().map(|one| one.call);
        // A call without a name calls nothing.
        let calls = calls.filter(|call| !call.name.is_empty()).collect();
        let reasoning = std::mem::take(&mut self.reasoning).into_block().map(ModelEvent::Opaque);
        reasoning.into_iter().chain(finish(calls, stop_reason, self.usage)).collect()
    }
}

impl StreamReader for Reader {
    fn on_frame(&mut self, frame: &Frame) -> Result<Vec<ModelEvent>, ModelError> {
        let data = frame.data.trim();
        if data == "[DONE]" {
            // Some servers say that they are done without saying why.
            let said = self.finish_reason.take().unwrap_or(StopReason::EndTurn);
            return Ok(self.end(said));
        }
        if data.is_empty() {
            return Ok(vec![]);
        }
        let chunk: Chunk<'_> = parse(data)?;
        if let Some(error) = chunk.error {
            return Err(error_in_stream(&error, &self.model));
        }
        if let Some(usage) = chunk.usage {
            replace_usage(&mut self.usage, &usage);
        }
        let mut events = Vec::new();
        // Only one answer is asked for; were there others, they would not belong between its words.
        for choice in chunk.choices.unwrap_or_default().into_iter().filter(|choice| choice.index.unwrap_or(0) == 0) {
            self.choice(choice, &mut events)?;
        }
        Ok(events)
    }

    /// A reason to finish is enough; not every server writes `[DONE]`.
    fn on_end(&mut self) -> Option<Vec<ModelEvent>> {
        let said = self.finish_reason.take()?;
        Some(self.end(said))
    }
}

/// A piece of the arguments: text to be joined; some servers send the whole as a JSON object instead.
fn fragment(arguments: &RawValue) -> Result<String, ModelError> {
    let text = arguments.get();
    if text.starts_with('"') { parse(text) } else { Ok(text.to_owned()) }
}

fn replace_usage(usage: &mut Usage, counted: &Value) {
    let counts = [
        (&mut usage.input_tokens, &counted["prompt_tokens"]),
        (&mut usage.output_tokens, &counted["completion_tokens"]),
        (&mut usage.cached_tokens, &counted["prompt_tokens_details"]["cached_tokens"]),
    ];
    for (count, value) in counts {
        *count = tokens(value).unwrap_or(*count);
    }
}

fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, ModelError> {
    serde_json::from_str(json).map_err(|error| bad_stream(format!("a part of it cannot be read ({error})")))
}

fn stop_reason(word: &str) -> StopReason {
    match word {
        "stop" | "end_turn" | "eos" => StopReason::EndTurn,
        "tool_calls" | "function_call" => StopReason::ToolUse,
        "length" => StopReason::MaxTokens,
        "content_filter" => StopReason::Refusal,
        other => unknown_stop_reason(other),
    }
}

/// An error that comes after HTTP 200: `code` is a status at OpenRouter and a word, or nothing, elsewhere.
fn error_in_stream(error: &Value, model: &str) -> ModelError {
    let message = error["message"].as_str().or(error.as_str()).unwrap_or("no message");
    let status = error["code"].as_u64().and_then(|code| u16::try_from(code).ok()).filter(|code| *code >= 400);
    if let Some(status) = status {
        return http_error::from_status(status, message, model);
    }
    let words = [&error["type"], &error["code"]].map(|word| word.as_str().unwrap_or_default());
    match words.iter().find_map(|word| busy_status(word)) {
        Some(status) => http_error::from_status(status, message, model),
        None => bad_stream(format!("the provider reports: {message}")),
    }
}

fn busy_status(word: &str) -> Option<u16> {
    match word {
        "server_error" | "api_error" | "internal_error" => Some(500),
        "overloaded" | "overloaded_error" | "service_unavailable" => Some(503),
        "rate_limit_exceeded" | "rate_limit_error" | "rate_limit" => Some(429),
        _ => None,
    }
}
