//! The demo model: small, deterministic, and in process. It understands arithmetic in plain English and Japanese, and
//! calls the same tools through the same agent loop as any other model. So Tallybook does its main job without an API
//! key.
//!
//! The model keeps no state. Each step follows from the request's history, which contains the question and the results
//! of the tools. The model never computes anything itself.

mod english;
mod expr;
mod grammar;
mod history;
mod japanese;
mod lexer;
mod numerals;
mod plan;
mod token;
mod vocabulary;
mod wording;

#[cfg(test)]
mod tests;

use std::time::Duration;

use async_stream::stream;
use tallybook_llm::{
    AssistantBlock, ModelClient, ModelEvent, ModelMessage, ModelRequest, ModelStream, StopReason, ToolCallRequest,
    ToolChoice, UserPart,
};
use tallybook_protocol::{ModelInfo, Usage};

use self::{
    expr::Expr,
    grammar::NotParsed,
    history::{History, call_id},
    plan::{Call, Value, next_calls},
    wording::Language,
};

/// Maximum length of a question, in characters.
const MAX_QUESTION_CHARS: usize = 4_000;

/// A model that needs no network. See the crate documentation.
#[derive(Clone, Debug)]
pub struct DemoModel {
    info: ModelInfo,
    pace: Duration,
}

impl DemoModel {
    /// Creates a demo model that waits for `pace` before each word, so that users can read its answers as they are
    /// written.
    pub fn new(pace: Duration) -> Self {
        Self { info: ModelInfo { provider: "demo".to_owned(), model: "arithmetic".to_owned() }, pace }
    }
}

impl ModelClient for DemoModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let pace = self.pace;
        Box::pin(stream! {
            for event in respond(&request) {
                if !pace.is_zero() && matches!(event, ModelEvent::TextDelta(_)) {
                    tokio::time::sleep(pace).await;
                }
                yield Ok(event);
            }
        })
    }
}

/// The text and the calls of one step.
struct Step {
    text: String,
    calls: Vec<Call>,
}

impl Step {
    fn say(text: String) -> Self {
        Self { text, calls: Vec::new() }
    }
}

fn respond(request: &ModelRequest) -> Vec<ModelEvent> {
    let history = History::read(&request.messages);
    let step = next_step(request, &history);
    let stop_reason = if step.calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
    let words = pieces(&step.text);
    let written = words.len() + step.calls.iter().map(|call| pieces(&call.input).len() + 1).sum::<usize>();
    let usage = Usage { input_tokens: count(words_of(request)), output_tokens: count(written), ..Usage::default() };
    let calls = step.calls.into_iter().enumerate().map(|(position, call)| {
        let id = call_id(history.next_step, position);
        ModelEvent::ToolCall(ToolCallRequest {
            id,
            name: call.tool.to_owned(),
            input_text: call.input,
            written_by: None,
        })
    });
    let mut events: Vec<ModelEvent> = words.into_iter().map(ModelEvent::TextDelta).collect();
    events.extend(calls);
    events.push(ModelEvent::Ended { stop_reason, usage });
    events
}

fn next_step(request: &ModelRequest, history: &History) -> Step {
    let language = Language::of(&history.question);
    let items = match understand(history, language) {
        Ok(items) => items,
        Err(NotParsed::NotArithmetic) => {
            let greeting = wording::greeting(language, &history.question);
            return Step::say(greeting.unwrap_or_else(|| wording::introduction(language)));
        }
        Err(NotParsed::NothingEarlier) => return Step::say(wording::nothing_earlier(language)),
        Err(NotParsed::TooLong) => return Step::say(wording::too_long(language)),
    };
    let mut calls: Vec<Call> = Vec::new();
    let mut answers: Vec<(Expr, Value)> = Vec::new();
    for item in items {
        let (value, wanted) = next_calls(&item, &history.outcomes);
        for call in wanted {
            if !calls.contains(&call) {
                calls.push(call);
            }
        }
        answers.push((item, value));
    }
    if calls.is_empty() || request.tool_choice == ToolChoice::None {
        return Step::say(wording::answer(language, &answers));
    }
    if let Some(call) = calls.iter().find(|call| request.tools.iter().all(|tool| tool.name != call.tool)) {
        return Step::say(wording::no_such_tool(language, call.tool));
    }
    let text = if history.is_first_step { wording::beginning(language) } else { String::new() };
    Step { text, calls }
}

fn understand(history: &History, language: Language) -> Result<Vec<Expr>, NotParsed> {
    if history.question.chars().nth(MAX_QUESTION_CHARS).is_some() {
        return Err(NotParsed::TooLong);
    }
    let tokens = lexer::tokens(&history.question).map_err(|lexer::TooManyTokens| NotParsed::TooLong)?;
    match language {
        Language::English => english::parse(&tokens, history.earlier.as_deref()),
        Language::Japanese => japanese::parse(&tokens, history.earlier.as_deref()),
    }
}

/// Splits a text into the deltas in which it is sent: a word with its space, or a few characters if there are no
/// spaces.
fn pieces(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut piece = String::new();
    let mut wide = 0;
    for c in text.chars() {
        piece.push(c);
        wide += usize::from(!c.is_ascii());
        if c.is_whitespace() || wide == 3 || piece.len() > 60 {
            pieces.push(std::mem::take(&mut piece));
            wide = 0;
        }
    }
    if !piece.is_empty() {
        pieces.push(piece);
    }
    pieces
}

/// Counts the words in a request, which are this model's tokens.
fn words_of(request: &ModelRequest) -> usize {
    let words = |text: &str| text.split_whitespace().count().max(text.chars().filter(|c| !c.is_ascii()).count());
    let in_block = |block: &AssistantBlock| match block {
        AssistantBlock::Text { text } => words(text),
        AssistantBlock::ToolCall(call) => words(&call.input_text) + 1,
        AssistantBlock::Opaque { .. } => 0,
    };
    let in_message = |message: &ModelMessage| match message {
        ModelMessage::User(parts) => words(&UserPart::join_texts(parts)),
        ModelMessage::Assistant(blocks) => blocks.iter().map(in_block).sum(),
        ModelMessage::ToolResults(results) => results.iter().map(|result| words(&result.content)).sum(),
    };
    request.system.iter().map(|text| words(text)).sum::<usize>()
        + request.messages.iter().map(in_message).sum::<usize>()
}

fn count(words: usize) -> i64 {
    i64::try_from(words).unwrap_or(i64::MAX)
}
