//! Writes requests for the Messages API (<https://docs.claude.com/en/api/messages>). Cache marks show the provider
//! which parts of a request to cache for the next one
//! (<https://docs.claude.com/en/docs/build-with-claude/prompt-caching>).

use serde::Serialize;
use serde_json::value::RawValue;
use tallybook_protocol::ModelInfo;

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
    pub(crate) temperature: Option<f64>,
    pub(crate) effort: Option<ReasoningEffort>,
    pub(crate) thinking_tokens: Option<u32>,
}

/// Maximum temperature that the API accepts.
const MAX_TEMPERATURE: f64 = 1.0;

/// Returns the JSON text of a request.
pub(crate) fn body(
    info: &ModelInfo,
    options: &Options,
    request: &ModelRequest,
    quirks: &QuirkSet,
) -> Result<String, serde_json::Error> {
    let takes = |quirk| !quirks.has(quirk);
    let mark = takes(Quirk::NoCacheControl).then_some(EPHEMERAL);
    let entries = history::repair(info, &request.messages);
    let mut messages = messages(&entries)?;
    let mut tools = tools(request, &entries);
    // Together with the marks of the system texts, these are the four marks that a request may contain. Each request of
    // a turn repeats the previous one up to its last mark.
    if let Some(tool) = tools.last_mut() {
        tool.cache_control = mark;
    }
    mark_last(&mut messages, mark);
    let choice = Choice::of(&request.tool_choice).filter(|_| !tools.is_empty() && takes(Quirk::NoToolChoice));
    let max_tokens = request.sampling.max_tokens_within(options.max_tokens);
    let thinking = Thinking::of(options, request, max_tokens).filter(|_| takes(Quirk::NoReasoning));
    serde_json::to_string(&Body {
        model: &info.model,
        max_tokens,
        output_config: thinking.and(options.effort).map(|effort| OutputConfig { effort: effort.as_str() }),
        stream: true,
        // The API refuses a temperature if reasoning is enabled.
        temperature: request
            .sampling
            .temperature
            .map(|asked| asked.min(MAX_TEMPERATURE))
            .or(options.temperature)
            .filter(|_| thinking.is_none() && takes(Quirk::NoTemperature)),
        thinking,
        // The API refuses blank stop sequences.
        stop_sequences: request
            .sampling
            .stop
            .iter()
            .filter(|text| !text.trim().is_empty() && takes(Quirk::NoStop))
            .collect(),
        system: system(&request.system, mark),
        tools,
        tool_choice: choice,
        messages,
    })
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stop_sequences: Vec<&'a String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Known<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tools: Vec<Tool<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_choice: Option<Choice<'a>>,
    messages: Vec<Message<'a>>,
}

/// The reasoning options. With an effort, the model decides how much to reason
/// (<https://platform.claude.com/docs/en/build-with-claude/adaptive-thinking>). Alternatively, there is a fixed token
/// budget, which newer models refuse (<https://platform.claude.com/docs/en/build-with-claude/extended-thinking>).
#[derive(Clone, Copy, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Thinking {
    Adaptive {
        /// Newer models do not return their reasoning unless this field requests it.
        display: &'static str,
    },
    Enabled {
        budget_tokens: u32,
    },
}

impl Thinking {
    /// Returns the reasoning options. Returns `None` if a tool call is required, because the API refuses that together
    /// with reasoning. Also returns `None` if the budget leaves no room for the answer.
    fn of(options: &Options, request: &ModelRequest, max_tokens: u32) -> Option<Self> {
        if matches!(request.tool_choice, ToolChoice::Required | ToolChoice::Named(_)) {
            return None;
        }
        let adaptive = options.effort.map(|_| Self::Adaptive { display: "summarized" });
        let enabled = options.thinking_tokens.filter(|tokens| *tokens < max_tokens);
        adaptive.or(enabled.map(|budget_tokens| Self::Enabled { budget_tokens }))
    }
}

#[derive(Serialize)]
struct OutputConfig {
    effort: &'static str,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: serde_json::Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    cache_control: Option<CacheControl>,
}

/// A mark that asks the provider to cache the request up to here.
#[derive(Clone, Copy, Serialize)]
struct CacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
}

const EPHEMERAL: CacheControl = CacheControl { kind: "ephemeral" };

#[derive(Serialize)]
struct Choice<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
}

impl<'a> Choice<'a> {
    /// Returns `None` if the model decides, which is the API's default.
    fn of(choice: &'a ToolChoice) -> Option<Self> {
        let (kind, name) = match choice {
            ToolChoice::Auto => return None,
            ToolChoice::None => ("none", None),
            ToolChoice::Required => ("any", None),
            ToolChoice::Named(name) => ("tool", Some(name.as_str())),
        };
        Some(Self { kind, name })
    }
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'static str,
    content: Vec<Content<'a>>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Known(Known<'a>),
    Opaque(&'a RawValue),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Known<'a> {
    Text {
        text: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    Image {
        source: Source<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        input: &'a RawValue,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: &'a str,
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        cache_control: Option<CacheControl>,
    },
}

/// The content of an image.
#[derive(Serialize)]
struct Source<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: &'a str,
    data: &'a str,
}

/// Returns the system texts with two cache marks: at the first text, which all conversations have in common, and at the
/// last.
fn system(texts: &[String], mark: Option<CacheControl>) -> Vec<Known<'_>> {
    let texts: Vec<&String> = texts.iter().filter(|text| !text.trim().is_empty()).collect();
    let is_marked = |at: usize| at == 0 || at + 1 == texts.len();
    let blocks = texts.iter().enumerate();
    blocks.map(|(at, text)| Known::Text { text, cache_control: mark.filter(|_| is_marked(at)) }).collect()
}

/// Marks the end of the history. If the provider paused the turn, the last block may be reasoning or a call, which
/// cannot have a mark; then nothing is marked.
fn mark_last(messages: &mut [Message<'_>], mark: Option<CacheControl>) {
    let last = messages.last_mut().and_then(|message| message.content.last_mut());
    if let Some(Content::Known(
        Known::Text { cache_control, .. }
        | Known::Image { cache_control, .. }
        | Known::ToolResult { cache_control, .. },
    )) = last
    {
        *cache_control = mark;
    }
}

/// Converts the history to messages with alternating roles. The results of a step and the user text after them form one
/// message, results first.
fn messages<'a>(entries: &'a [Entry<'a>]) -> Result<Vec<Message<'a>>, serde_json::Error> {
    let mut messages: Vec<Message<'a>> = Vec::new();
    for entry in entries {
        match entry {
            Entry::User(parts) => {
                push(&mut messages, "user", parts.iter().map(user_part).collect());
            }
            Entry::Step { blocks, results } => {
                push(&mut messages, "assistant", blocks.iter().map(content_of).collect::<Result<_, _>>()?);
                push(&mut messages, "user", results.iter().map(result).collect());
            }
        }
    }
    Ok(messages)
}

fn push<'a>(messages: &mut Vec<Message<'a>>, role: &'static str, content: Vec<Content<'a>>) {
    match messages.last_mut() {
        _ if content.is_empty() => {}
        Some(last) if last.role == role => last.content.extend(content),
        _ => messages.push(Message { role, content }),
    }
}

fn user_part<'a>(part: &Part<'a>) -> Content<'a> {
    match part {
        Part::Text(content) => text(content),
        Part::Image(image) => {
            let source = Source { kind: "base64", media_type: &image.media_type, data: &image.data };
            Content::Known(Known::Image { source, cache_control: None })
        }
    }
}

fn text(content: &str) -> Content<'_> {
    Content::Known(Known::Text { text: content, cache_control: None })
}

fn content_of<'a>(block: &'a Block<'a>) -> Result<Content<'a>, serde_json::Error> {
    Ok(match block {
        Block::Text(content) => text(content),
        // Keeps the digits of numbers and the order of keys as the model wrote them.
        Block::Call { id, name, input, .. } => {
            Content::Known(Known::ToolUse { id, name, input: serde_json::from_str(input)? })
        }
        Block::Opaque(json) => Content::Opaque(json),
    })
}

fn result<'a>(outcome: &'a Outcome<'a>) -> Content<'a> {
    let Outcome { id, content, is_error, .. } = outcome;
    Content::Known(Known::ToolResult { tool_use_id: id, content, is_error: *is_error, cache_control: None })
}

/// Returns the available tools. If there are none but the history contains calls, the API still requires definitions of
/// the called tools.
fn tools<'a>(request: &'a ModelRequest, entries: &'a [Entry<'a>]) -> Vec<Tool<'a>> {
    if !request.tools.is_empty() {
        let specs = request.tools.iter();
        return specs
            .map(|spec| Tool {
                name: &spec.name,
                description: &spec.description,
                input_schema: spec.input_schema.clone(),
                cache_control: None,
            })
            .collect();
    }
    let names: std::collections::BTreeSet<&str> = history::called_names(entries).collect();
    names
        .into_iter()
        .map(|name| Tool {
            name,
            description: "No longer available.",
            input_schema: serde_json::json!({"type": "object"}),
            cache_control: None,
        })
        .collect()
}
