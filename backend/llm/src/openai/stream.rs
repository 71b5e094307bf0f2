//! An answer as Chat Completions streams it (<https://platform.openai.com/docs/api-reference/chat-streaming>), read
//! chunk by chunk. Many servers speak this format, each with an accent; what they are known to do differently is
//! tolerated here and named where it is.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tallybook_protocol::{Usage, sse::Frame};

use super::{
    reasoning::Reasoning,
    thought::{Said, ThoughtTags},
};
use crate::{
    answer_budget::AnswerBudget,
    error::ModelError,
    event::{ModelEvent, StopReason},
    limits::MAX_BLOCKS,
    pending_call::{PendingCall, finish, minted_id},
    reader::{StreamReader, bad_stream, parse, tokens, unknown_stop_reason},
    stream_error,
};

/// Reads one answer.
pub(crate) struct Reader {
    model: String,
    /// Calls in the order in which they began.
    calls: Vec<Indexed>,
    finish_reason: Option<StopReason>,
    refused: bool,
    reasoning: Reasoning,
    tags: ThoughtTags,
    usage: Usage,
    budget: AnswerBudget,
}

/// A call that is being written, under the index that its fragments carry.
struct Indexed {
    index: u64,
    call: PendingCall,
    /// What goes back with it.
    extra: Option<Value>,
}

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow)]
    choices: Option<Vec<Choice<'a>>>,
    usage: Option<Value>,
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
    reasoning: Option<&'a RawValue>,
    #[serde(borrow)]
    tool_calls: Option<Vec<CallDelta<'a>>>,
}

#[derive(Deserialize)]
struct CallDelta<'a> {
    index: Option<u64>,
    id: Option<String>,
    /// What the provider wants back with the call (Gemini's thought signature).
    extra_content: Option<Value>,
    #[serde(borrow)]
    function: Option<FunctionDelta<'a>>,
}

#[derive(Deserialize)]
struct FunctionDelta<'a> {
    name: Option<String>,
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// Content that is a string, as it is almost everywhere.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// Content that is none; a list of parts where a model writes several kinds.
#[derive(Deserialize)]
#[serde(untagged)]
enum Content {
    Parts(Vec<Part>),
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
struct Part {
    #[serde(default)]
    text: String,
}

/// The text of some content, given as JSON.
fn text_of(content: &str) -> Result<Cow<'_, str>, ModelError> {
    if content.starts_with('"') {
        return parse(content).map(|Text(text)| text);
    }
    Ok(match parse(content)? {
        Content::Parts(parts) => parts.into_iter().map(|part| part.text).collect(),
        Content::Other(_) => Cow::default(),
    })
}

impl Reader {
    pub(crate) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            calls: Vec::new(),
            finish_reason: None,
            refused: false,
            reasoning: Reasoning::default(),
            tags: ThoughtTags::default(),
            usage: Usage::default(),
            budget: AnswerBudget::default(),
        }
    }

    fn choice(&mut self, choice: Choice<'_>, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        if let Some(delta) = choice.delta {
            events.extend(self.thinking(&delta)?);
            if let Some(content) = delta.content {
                self.text(&text_of(content.get())?, events)?;
            }
            if let Some(words) = delta.refusal.filter(|words| !words.is_empty()) {
                self.refused = true;
                self.text(&words, events)?;
            }
            for call in delta.tool_calls.unwrap_or_default() {
                events.extend(self.call(call)?);
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

    fn text(&mut self, text: &str, events: &mut Vec<ModelEvent>) -> Result<(), ModelError> {
        self.budget.take(text)?;
        events.extend(self.tags.push(text).into_iter().map(Said::into_event));
        Ok(())
    }

    /// What a chunk has of the model's thinking: what goes back is kept, what people may read is shown. Servers that write
    /// it in several fields write the same in each.
    fn thinking(&mut self, delta: &Delta<'_>) -> Result<Option<ModelEvent>, ModelError> {
        let mut shown = String::new();
        if let Some(content) = delta.reasoning_content {
            shown = self.reasoning.add_content(content, &mut self.budget)?;
        }
        if let (true, Some(words)) = (shown.is_empty(), delta.reasoning) {
            shown = serde_json::from_str(words.get()).unwrap_or_default();
            self.budget.take(&shown)?;
        }
        if let Some(details) = delta.reasoning_details {
            let words = self.reasoning.add_details(details, &mut self.budget)?;
            if shown.is_empty() {
                shown = words;
            }
        }
        Ok((!shown.is_empty()).then_some(ModelEvent::ReasoningDelta(shown)))
    }

    fn call(&mut self, delta: CallDelta<'_>) -> Result<Option<ModelEvent>, ModelError> {
        let id = delta.id.unwrap_or_default();
        let function = delta.function.unwrap_or(FunctionDelta { name: None, arguments: None });
        let name = function.name.unwrap_or_default();
        let arguments = function.arguments.map(fragment).transpose()?.unwrap_or_default();
        for text in [&id, &name, &arguments] {
            self.budget.take(text)?;
        }
        let extra = delta.extra_content.filter(Value::is_object);
        if let Some(extra) = &extra {
            self.budget.take_nested(&extra.to_string())?;
        }
        let Indexed { call, extra: held, .. } = self.entry(delta.index, &id, &name)?;
        if extra.is_some() {
            *held = extra;
        }
        // Servers repeat id and name in later fragments, so they are set once and never joined.
        if call.id.is_empty() {
            call.id = id;
        }
        if call.name.is_empty() {
            call.name = name;
        }
        call.input.push_str(&arguments);
        Ok(call.growth())
    }

    /// The call that a fragment belongs to. Without an index it is the last one, unless the fragment begins another.
    /// Gemini's server gives every call the index 0; there a new id with a name begins another.
    fn entry(&mut self, index: Option<u64>, id: &str, name: &str) -> Result<&mut Indexed, ModelError> {
        let same_index = |one: &Indexed| index.is_none_or(|index| one.index == index);
        let found = self.calls.iter().rposition(same_index).filter(|at| {
            let call = &self.calls[*at].call;
            let begins_another = !name.is_empty() && if id.is_empty() { index.is_none() } else { call.id != id };
            !begins_another || (call.id.is_empty() && call.name.is_empty())
        });
        let at = match found {
            Some(at) => at,
            None if self.calls.len() >= MAX_BLOCKS => {
                return Err(bad_stream(format!("it has more than {MAX_BLOCKS} tool calls")));
            }
            None => {
                let index = index.unwrap_or(self.calls.len() as u64);
                self.calls.push(Indexed { index, call: PendingCall::default(), extra: None });
                self.calls.len() - 1
            }
        };
        Ok(&mut self.calls[at])
    }

    fn end(&mut self, said: StopReason) -> Vec<ModelEvent> {
        let stop_reason = if self.refused { StopReason::Refusal } else { said };
        let mut reasoning = std::mem::take(&mut self.reasoning);
        let calls = std::mem::take(&mut self.calls).into_iter().map(|Indexed { mut call, extra, .. }| {
            if let Some(extra) = extra {
                if call.id.is_empty() {
                    call.id = minted_id();
                }
                reasoning.add_extra(&call.id, extra);
            }
            call
        });
        // A call without a name is the agent's to answer with an error; only what holds nothing at all is no call.
        let calls: Vec<PendingCall> =
            calls.filter(|call| ![&call.id, &call.name, &call.input].iter().all(|text| text.is_empty())).collect();
        let held = self.tags.end().map(Said::into_event);
        let reasoning = reasoning.into_block().map(ModelEvent::Opaque);
        held.into_iter().chain(reasoning).chain(finish(calls, stop_reason, self.usage)).collect()
    }
}

impl StreamReader for Reader {
    fn on_frame(&mut self, frame: &Frame) -> Result<Vec<ModelEvent>, ModelError> {
        stream_error::check(frame, &self.model)?;
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

fn stop_reason(word: &str) -> StopReason {
    match word {
        "stop" | "end_turn" | "eos" => StopReason::EndTurn,
        "tool_calls" | "function_call" => StopReason::ToolUse,
        "length" => StopReason::MaxTokens,
        "content_filter" => StopReason::Refusal,
        other => unknown_stop_reason(other),
    }
}
