//! Writes requests for Chat Completions (<https://platform.openai.com/docs/api-reference/chat/create>).

use serde::Serialize;
use serde_json::{Value, json, value::RawValue};
use tallybook_protocol::ModelInfo;

use super::reasoning;
use crate::{
    effort::ReasoningEffort,
    history::{self, Block, Entry, Outcome, Part},
    quirks::{Quirk, QuirkSet},
    request::{ModelRequest, ToolChoice},
};

/// The settings that apply to every request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Options {
    pub(crate) max_tokens: u32,
    pub(crate) limit: TokenLimit,
    pub(crate) temperature: Option<f64>,
    /// The reasoning effort (<https://platform.openai.com/docs/guides/reasoning>).
    pub(crate) effort: Option<ReasoningEffort>,
    /// The reasoning budget in tokens (<https://openrouter.ai/docs/use-cases/reasoning-tokens>).
    pub(crate) thinking_tokens: Option<u32>,
    /// `true` to enable OpenRouter's web plugin (<https://openrouter.ai/docs/features/web-search>).
    pub(crate) web_search: bool,
}

/// The field that limits the length of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenLimit {
    /// `max_completion_tokens`: OpenAI's own newer models refuse the older field.
    Completion,
    /// `max_tokens`: all other servers know it, and not all of them know the newer field.
    Plain,
}

impl TokenLimit {
    /// Returns the field that the server at this host most likely accepts.
    pub(crate) fn of(host: &str) -> Self {
        let own = ["openai.com", "openai.azure.com"]
            .iter()
            .any(|domain| host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
        if own { Self::Completion } else { Self::Plain }
    }

    /// Returns the field that a server with these quirks accepts; `None` if it refuses both.
    fn with(self, quirks: &QuirkSet) -> Option<Self> {
        let is_taken = |field: &Self| {
            !quirks.has(match field {
                Self::Completion => Quirk::NoMaxCompletionTokens,
                Self::Plain => Quirk::NoMaxTokens,
            })
        };
        [self, Self::Plain, Self::Completion].into_iter().find(is_taken)
    }
}

/// Text of the assistant message between the results of a failed turn and the next user message. Without it, Mistral
/// refuses the request.
const UNFINISHED: &str = "(This answer was not finished.)";

/// Returns the JSON text of a request.
pub(crate) fn body(
    info: &ModelInfo,
    options: &Options,
    request: &ModelRequest,
    quirks: &QuirkSet,
) -> Result<String, serde_json::Error> {
    let takes = |quirk| !quirks.has(quirk);
    let entries = history::repair(info, &request.messages);
    let tools: Vec<Tool<'_>> = request
        .tools
        .iter()
        .map(|spec| Tool {
            kind: "function",
            function: Definition { name: &spec.name, description: &spec.description, parameters: &spec.input_schema },
        })
        .collect();
    let max_tokens = request.sampling.max_tokens_within(options.max_tokens);
    let limit = |field| (options.limit.with(quirks) == Some(field)).then_some(max_tokens);
    let takes_reasoning = takes(Quirk::NoReasoning);
    serde_json::to_string(&Body {
        model: &info.model,
        stream: true,
        stream_options: takes(Quirk::NoStreamOptions).then_some(StreamOptions { include_usage: true }),
        max_tokens: limit(TokenLimit::Plain),
        max_completion_tokens: limit(TokenLimit::Completion),
        temperature: request.sampling.temperature.or(options.temperature).filter(|_| takes(Quirk::NoTemperature)),
        reasoning_effort: options.effort.filter(|_| takes_reasoning).map(ReasoningEffort::as_str),
        reasoning: options.thinking_tokens.filter(|_| takes_reasoning).map(|max_tokens| Thinking { max_tokens }),
        stop: if takes(Quirk::NoStop) { &request.sampling.stop } else { &[] },
        plugins: (options.web_search && request.may_search).then_some([Plugin { id: "web" }]),
        tool_choice: Choice::of(&request.tool_choice).filter(|_| !tools.is_empty() && takes(Quirk::NoToolChoice)),
        tools,
        messages: messages(&request.system, &entries, quirks),
    })
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<Thinking>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    stop: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    plugins: Option<[Plugin; 1]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
    messages: Vec<Message<'a>>,
}

#[derive(Serialize)]
struct Thinking {
    max_tokens: u32,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

#[derive(Serialize)]
struct Plugin {
    id: &'static str,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Choice<'a> {
    Word(&'static str),
    Function {
        #[serde(rename = "type")]
        kind: &'static str,
        function: Name<'a>,
    },
}

#[derive(Serialize)]
struct Name<'a> {
    name: &'a str,
}

impl<'a> Choice<'a> {
    /// Returns `None` if the model decides, because not every server knows the field.
    fn of(choice: &'a ToolChoice) -> Option<Self> {
        match choice {
            ToolChoice::Auto => None,
            ToolChoice::None => Some(Self::Word("none")),
            ToolChoice::Required => Some(Self::Word("required")),
            ToolChoice::Named(name) => Some(Self::Function { kind: "function", function: Name { name } }),
        }
    }
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: Definition<'a>,
}

#[derive(Serialize)]
struct Definition<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a serde_json::Value,
}

#[derive(Serialize)]
#[serde(tag = "role", rename_all = "snake_case")]
enum Message<'a> {
    System {
        content: String,
    },
    User {
        content: UserContent<'a>,
    },
    Assistant {
        /// `null` if there are only calls, as the API itself writes it; a list of parts if one of them is reasoning.
        content: Option<Value>,
        #[serde(flatten)]
        reasoning: reasoning::Fields<'a>,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tool_calls: Vec<Call<'a>>,
    },
    Tool {
        tool_call_id: &'a str,
        /// Gemini expects the name.
        #[serde(skip_serializing_if = "Option::is_none")]
        name: Option<&'a str>,
        content: &'a str,
    },
}

/// The content of a user message.
#[derive(Serialize)]
#[serde(untagged)]
enum UserContent<'a> {
    /// Text without images is always sent as a string, because not every server accepts a list of parts.
    Text(String),
    Parts(Vec<ContentPart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum ContentPart<'a> {
    Text { text: &'a str },
    ImageUrl { image_url: ImageUrl },
}

#[derive(Serialize)]
struct ImageUrl {
    url: String,
}

impl<'a> UserContent<'a> {
    fn of(parts: &[Part<'a>]) -> Self {
        if let Some(text) = history::join_texts(parts) {
            return Self::Text(text);
        }
        let parts = parts.iter().map(|part| match part {
            Part::Text(text) => ContentPart::Text { text },
            Part::Image(image) => {
                let url = format!("data:{};base64,{}", image.media_type, image.data);
                ContentPart::ImageUrl { image_url: ImageUrl { url } }
            }
        });
        Self::Parts(parts.collect())
    }
}

#[derive(Serialize)]
struct Call<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    extra_content: Option<&'a RawValue>,
    /// The ID as the model wrote it.
    #[serde(skip)]
    written_id: &'a str,
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: Called<'a>,
}

#[derive(Serialize)]
struct Called<'a> {
    name: &'a str,
    /// JSON as text, so that numbers keep their digits.
    arguments: &'a str,
}

fn messages<'a>(system: &[String], entries: &'a [Entry<'a>], quirks: &QuirkSet) -> Vec<Message<'a>> {
    let mut messages = Vec::new();
    // All system texts form one message. Many servers and the chat templates of many models accept only one, at the
    // beginning.
    let system: Vec<&str> = system.iter().map(String::as_str).filter(|text| !text.trim().is_empty()).collect();
    if !system.is_empty() {
        messages.push(Message::System { content: system.join("\n\n") });
    }
    for entry in entries {
        match entry {
            Entry::User(parts) => {
                if let Some(Message::Tool { .. }) = messages.last() {
                    let (content, reasoning) = (Some(Value::from(UNFINISHED)), reasoning::Fields::default());
                    messages.push(Message::Assistant { content, reasoning, tool_calls: Vec::new() });
                }
                messages.push(Message::User { content: UserContent::of(parts) });
            }
            Entry::Step { blocks, results } if quirks.has(Quirk::NoParallelToolCalls) => {
                // Each call ends a message of its own.
                let mut results = results.iter();
                for part in blocks.split_inclusive(|block| matches!(block, Block::Call { .. })) {
                    messages.push(message_of(part.iter(), quirks));
                    if let Some(Block::Call { .. }) = part.last() {
                        messages.extend(results.next().map(|outcome| result(outcome, quirks)));
                    }
                }
            }
            Entry::Step { blocks, results } => {
                messages.push(message_of(blocks.iter(), quirks));
                messages.extend(results.iter().map(|outcome| result(outcome, quirks)));
            }
        }
    }
    messages
}

fn result<'a>(outcome: &'a Outcome<'a>, quirks: &QuirkSet) -> Message<'a> {
    let name = (!quirks.has(Quirk::NoToolMessageName)).then_some(outcome.name.as_str());
    Message::Tool { tool_call_id: &outcome.id, name, content: outcome.content }
}

/// Creates the message with all text and all calls of a step.
fn message_of<'a>(blocks: impl Iterator<Item = &'a Block<'a>>, quirks: &QuirkSet) -> Message<'a> {
    let mut text = String::new();
    let mut reasoning = reasoning::Fields::default();
    let mut tool_calls = Vec::new();
    for block in blocks {
        match block {
            Block::Text(written) => text.push_str(written),
            Block::Call { id, written_id, name, input } => {
                let extra_content = None;
                tool_calls.push(Call {
                    extra_content,
                    written_id,
                    id,
                    kind: "function",
                    function: Called { name, arguments: input },
                });
            }
            Block::Opaque(_) if quirks.has(Quirk::NoReasoningHistory) => {}
            Block::Opaque(block) => reasoning = serde_json::from_str(block.get()).unwrap_or_default(),
        }
    }
    for call in &mut tool_calls {
        call.extra_content = reasoning.extra_content.get(call.written_id).copied();
    }
    text.insert_str(0, &reasoning.tagged);
    let text = Some(text).filter(|text| !text.is_empty());
    let content = if reasoning.part.is_empty() {
        text.map(Value::String)
    } else {
        let thinking = json!({"type": "thinking", "thinking": [{"type": "text", "text": reasoning.part}]});
        let text = text.map(|text| json!({"type": "text", "text": text}));
        Some(std::iter::once(thinking).chain(text).collect())
    };
    Message::Assistant { content, reasoning, tool_calls }
}
