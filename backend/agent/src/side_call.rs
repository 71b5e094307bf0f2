//! An auxiliary model call, outside the steps of a turn: text in, text out, without tools, and with its own timeout and
//! maximum length.

use std::{future::Future, pin::pin, sync::Arc};

use futures_util::StreamExt;
use tallybook_llm::{
    AssistantBlock, ModelClient, ModelError, ModelEvent, ModelMessage, ModelRequest, Sampling, ToolChoice,
};
use tokio::time::{Instant, sleep_until};
use tracing::Instrument as _;

use super::{
    ask::Answer,
    error::AgentError,
    recorder::{ModelCallRecord, Purpose},
    spans,
};

/// The input of an auxiliary model call.
pub(crate) struct Question {
    pub(crate) purpose: Purpose,
    /// The step that the call concerns.
    pub(crate) step: u32,
    pub(crate) system: Vec<String>,
    pub(crate) prompt: String,
    /// Maximum length of the answer, in bytes. The answer is short, but some models write their reasoning first.
    pub(crate) max_bytes: usize,
    pub(crate) sampling: Sampling,
    pub(crate) deadline: Instant,
}

/// The result of an auxiliary model call.
#[derive(Debug)]
pub struct SideCall {
    /// The text that the model wrote.
    pub text: Result<String, AgentError>,
    /// The record of the call, for the database.
    pub call: ModelCallRecord,
}

/// Calls a model until it has answered, the deadline passes, or `turn_deadline` ends the call.
pub(crate) async fn complete_side_call(
    model: &dyn ModelClient,
    question: Question,
    turn_deadline: impl Future<Output = AgentError>,
) -> SideCall {
    let Question { purpose, step, system, prompt, max_bytes, sampling, deadline } = question;
    let mut answer = Answer::new(purpose);
    let request = ModelRequest {
        system,
        messages: vec![ModelMessage::user_text(prompt)],
        tools: Arc::new([]),
        tool_choice: ToolChoice::None,
        sampling,
        may_search: false,
    };
    let span = spans::chat(model.info());
    let followed = tokio::select! {
        biased;
        error = turn_deadline => Err(error),
        followed = follow(model, request, &mut answer, max_bytes, deadline).instrument(span.clone()) => {
            followed.map_err(AgentError::from)
        }
    };
    answer.end();
    answer.record_on(&span, followed.as_ref().err());
    let call = answer.record(step, model.info(), followed.as_ref().err());
    SideCall { text: followed.map(|()| answer.text()), call }
}

async fn follow(
    model: &dyn ModelClient,
    request: ModelRequest,
    answer: &mut Answer,
    max_bytes: usize,
    deadline: Instant,
) -> Result<(), ModelError> {
    let asked = Instant::now();
    let mut stream = model.stream(request);
    let mut late = pin!(sleep_until(deadline));
    loop {
        let event = tokio::select! {
            biased;
            () = &mut late => return Err(ModelError::Timeout { seconds: asked.elapsed().as_secs() }),
            event = stream.next() => event,
        };
        let Some(event) = event else {
            return Err(ModelError::BadStream { detail: "the stream ended without a final event".to_owned() });
        };
        match event? {
            ModelEvent::TextDelta(delta) => answer.add_text(&delta),
            ModelEvent::Attempt(attempt) => answer.begin(attempt),
            ModelEvent::TextWasReasoning(_) => answer.take_back(),
            ModelEvent::Ended { stop_reason, usage } => {
                answer.stop_reason = stop_reason;
                answer.usage = usage;
                return Ok(());
            }
            ModelEvent::RetryIn(_)
            | ModelEvent::ToolCallProgress { .. }
            | ModelEvent::ToolCall(_)
            | ModelEvent::ReasoningDelta(_)
            | ModelEvent::Opaque(_) => {}
        }
        if answer.blocks.iter().map(text_bytes).sum::<usize>() > max_bytes {
            return Err(ModelError::BadStream { detail: "it is longer than requested".to_owned() });
        }
    }
}

fn text_bytes(block: &AssistantBlock) -> usize {
    if let AssistantBlock::Text { text } = block { text.len() } else { 0 }
}
