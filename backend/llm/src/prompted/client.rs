//! The client around another one: the question in plain text, the answer with its calls read out.

use std::sync::Arc;

use async_stream::try_stream;
use futures_util::StreamExt as _;
use tallybook_protocol::{ModelInfo, ToolOffer};

use super::{
    parser::{Parser, Piece},
    prompt, transcript,
};
use crate::{
    error::ModelError,
    event::{ModelEvent, StopReason},
    model::{ModelClient, ModelStream},
    names,
    pending_call::minted_id,
    reader::bad_stream,
    request::{ModelRequest, ToolCallRequest, ToolChoice},
};

/// A model whose tools are described in the prompt.
#[derive(Clone)]
pub(crate) struct Prompted {
    inner: Arc<dyn ModelClient>,
}

impl Prompted {
    pub(crate) fn new(inner: Arc<dyn ModelClient>) -> Self {
        Self { inner }
    }

    /// The same question in plain text.
    fn in_words(&self, request: &ModelRequest) -> Result<ModelRequest, ModelError> {
        let mut system = request.system.clone();
        if !request.tools.is_empty() {
            let tools = prompt::describe(&request.tools, &request.tool_choice);
            system.push(tools.map_err(|error| bad_stream(format!("the tools cannot be described to it ({error})")))?);
        }
        Ok(ModelRequest {
            system,
            messages: transcript::as_text(self.info(), &request.messages),
            tools: Arc::from([]),
            tool_choice: ToolChoice::Auto,
            sampling: request.sampling.clone(),
        })
    }
}

impl ModelClient for Prompted {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    fn tool_offer(&self) -> ToolOffer {
        ToolOffer::Prompt
    }

    fn stream(&self, request: ModelRequest) -> ModelStream {
        let in_words = match self.in_words(&request) {
            Ok(in_words) => in_words,
            Err(error) => return futures_util::stream::iter([Err(error)]).boxed(),
        };
        let answer = self.inner.stream(in_words);
        if request.tools.is_empty() { answer } else { with_calls(answer, request) }
    }
}

/// The answer with its calls read out of its text.
fn with_calls(mut answer: ModelStream, request: ModelRequest) -> ModelStream {
    let events = try_stream! {
        let tools = request.tools;
        let mut parser = Parser::new(Arc::clone(&tools));
        let mut calls = Calls { allowed: request.tool_choice != ToolChoice::None, any: false };
        while let Some(event) = answer.next().await {
            match event {
                Ok(ModelEvent::TextDelta(text)) => {
                    for event in calls.events(parser.push(&text)) {
                        yield event;
                    }
                }
                // Some servers read calls out of the text themselves.
                Ok(ModelEvent::ToolCall(call)) => {
                    if let Some(event) = calls.one(names::resolved(call, &tools)) {
                        yield event;
                    }
                }
                Ok(ModelEvent::Ended { stop_reason, usage }) => {
                    for event in calls.events(parser.end(stop_reason.is_cut_off())) {
                        yield event;
                    }
                    yield ModelEvent::Ended { stop_reason: calls.stop_reason(stop_reason), usage };
                    return;
                }
                // Nothing is asked again once there is text, so there is none here to forget.
                Ok(
                    event @ (ModelEvent::Attempt(_)
                    | ModelEvent::RetryIn(_)
                    | ModelEvent::Opaque(_)
                    | ModelEvent::ReasoningDelta(_)),
                ) => yield event,
                // A model that thinks about calls makes none.
                Ok(event @ ModelEvent::TextWasReasoning(_)) => {
                    parser = Parser::new(Arc::clone(&tools));
                    calls.any = false;
                    yield event;
                }
                // Whether one is allowed is known when it is complete.
                Ok(ModelEvent::CallGrew { .. }) => {}
                Err(error) => {
                    // What was held back was written too; a call in it is not complete.
                    for event in calls.events(parser.end(true)) {
                        yield event;
                    }
                    Err(error)?;
                }
            }
        }
    };
    events.boxed()
}

/// Hands calls on where they are allowed, and remembers that there were any.
struct Calls {
    allowed: bool,
    any: bool,
}

impl Calls {
    fn events(&mut self, pieces: Vec<Piece>) -> Vec<ModelEvent> {
        let events = pieces.into_iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(ModelEvent::TextDelta(text)),
            Piece::Call(call) => {
                self.one(ToolCallRequest { id: minted_id(), name: call.name, input_text: call.input_text })
            }
        });
        events.collect()
    }

    fn one(&mut self, call: ToolCallRequest) -> Option<ModelEvent> {
        self.any |= self.allowed;
        self.allowed.then_some(ModelEvent::ToolCall(call))
    }

    /// The calls decide, as with native calls; to the provider it was a text that ended.
    fn stop_reason(&self, said: StopReason) -> StopReason {
        match said {
            StopReason::EndTurn if self.any => StopReason::ToolUse,
            StopReason::ToolUse if !self.any => StopReason::EndTurn,
            other => other,
        }
    }
}
