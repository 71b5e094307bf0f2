//! Converts a request with tools to text, and parses the tool calls in the answer, for the prompt-based tool mode.

use std::sync::Arc;

use async_stream::try_stream;
use futures_util::StreamExt as _;
use tallybook_protocol::ModelInfo;
use tallybook_tools::ToolSpec;

use super::{
    parser::{Parser, Piece},
    prompt, transcript,
};
use crate::{
    error::ModelError,
    event::{ModelEvent, StopReason},
    model::ModelStream,
    names,
    pending_call::generated_id,
    reader::bad_stream,
    request::{ModelRequest, ToolCallRequest, ToolChoice},
};

/// Returns the same request as text, with its tools described in the prompt.
pub(crate) fn in_text(reader: &ModelInfo, request: &ModelRequest) -> Result<ModelRequest, ModelError> {
    let mut system = request.system.clone();
    if !request.tools.is_empty() {
        let tools = prompt::describe(&request.tools, &request.tool_choice);
        system
            .push(tools.map_err(|error| bad_stream(format!("the tools cannot be described in the prompt ({error})")))?);
    }
    Ok(ModelRequest {
        system,
        messages: transcript::as_text(reader, &request.messages),
        tools: Arc::from([]),
        tool_choice: ToolChoice::Auto,
        sampling: request.sampling.clone(),
        may_search: request.may_search,
    })
}

/// A reader of the tool calls in an answer's text.
#[derive(Clone)]
pub(crate) struct Calls {
    tools: Arc<[ToolSpec]>,
    is_allowed: bool,
}

impl Calls {
    /// Creates the reader for the answer to this request; `None` if the request has no tools.
    pub(crate) fn of(request: &ModelRequest) -> Option<Self> {
        let is_allowed = request.tool_choice != ToolChoice::None;
        (!request.tools.is_empty()).then(|| Self { tools: Arc::clone(&request.tools), is_allowed })
    }

    /// Replaces the calls in the answer's text with [`ModelEvent::ToolCall`]s.
    pub(crate) fn read(self, mut answer: ModelStream) -> ModelStream {
        let Self { tools, is_allowed } = self;
        let events = try_stream! {
            let mut parser = Parser::new(Arc::clone(&tools));
            let mut calls = CallFilter { allowed: is_allowed, any: false };
            while let Some(event) = answer.next().await {
                match event {
                    Ok(ModelEvent::TextDelta(text)) => {
                        for event in calls.events(parser.push(&text)) {
                            yield event;
                        }
                    }
                    // Some servers parse the calls in the text themselves.
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
                    // Requests are not retried after text, so the parser holds no text that would have to be discarded.
                    Ok(
                        event @ (ModelEvent::Attempt(_)
                        | ModelEvent::RetryIn(_)
                        | ModelEvent::Opaque(_)
                        | ModelEvent::ReasoningDelta(_)),
                    ) => yield event,
                    // The text was reasoning, so calls in it do not count.
                    Ok(event @ ModelEvent::TextWasReasoning(_)) => {
                        parser = Parser::new(Arc::clone(&tools));
                        calls.any = false;
                        yield event;
                    }
                    // Whether a call is allowed is checked when it is complete.
                    Ok(ModelEvent::ToolCallProgress { .. }) => {}
                    Err(error) => {
                        // The held text was also part of the answer; a call in it is incomplete.
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
}

/// A filter that passes calls on if they are allowed, and remembers whether there were any.
struct CallFilter {
    allowed: bool,
    any: bool,
}

impl CallFilter {
    fn events(&mut self, pieces: Vec<Piece>) -> Vec<ModelEvent> {
        let events = pieces.into_iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(ModelEvent::TextDelta(text)),
            Piece::Call(call) => {
                let (name, input_text) = (call.name, call.input_text);
                self.one(ToolCallRequest { id: generated_id(), name, input_text, written_by: None })
            }
        });
        events.collect()
    }

    fn one(&mut self, call: ToolCallRequest) -> Option<ModelEvent> {
        self.any |= self.allowed;
        self.allowed.then_some(ModelEvent::ToolCall(call))
    }

    /// Returns the stop reason that matches the calls, as for native calls. The provider itself saw only a text that
    /// ended.
    fn stop_reason(&self, said: StopReason) -> StopReason {
        match said {
            StopReason::EndTurn if self.any => StopReason::ToolUse,
            StopReason::ToolUse if !self.any => StopReason::EndTurn,
            other => other,
        }
    }
}
