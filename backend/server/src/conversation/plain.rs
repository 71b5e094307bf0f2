//! Asking a model once, for a program: no tools, no conversation, and nothing of it is kept. What the model is told is what
//! the program says and nothing else.

use std::sync::Arc;

use futures_util::StreamExt as _;
use tallybook_llm::{ModelError, ModelEvent, ModelRequest, ModelStream, StopReason, ToolChoice};
use tallybook_protocol::Usage;
use tokio::{
    sync::mpsc,
    time::{Instant, timeout_at},
};

use super::{
    ServiceError, context::Context, limits::MAX_WAITING_PLAIN_EVENTS, service::ConversationService, slots::Slot,
    turn::GivenInput,
};
use crate::accounts::UserId;

/// What comes of a model that is asked once. It ends with one of the last three.
#[derive(Debug)]
pub enum PlainEvent {
    /// More of its answer.
    Text(String),
    /// The answer is whole.
    Ended {
        /// Why the model stopped.
        stop_reason: StopReason,
        /// Tokens of the answer.
        usage: Usage,
    },
    /// It could not be asked, or its answer broke off.
    Failed(ModelError),
    /// The server is stopping.
    ShutDown,
}

impl ConversationService {
    /// Asks a model of the catalog once; the default where none is named. What it says comes as it does; who lets go of the
    /// receiver ends it.
    pub fn ask_plainly(
        &self,
        user: UserId,
        model: Option<&str>,
        input: GivenInput,
    ) -> Result<mpsc::Receiver<PlainEvent>, ServiceError> {
        let context = &self.context;
        if context.draining.is_cancelled() {
            return Err(ServiceError::ShuttingDown);
        }
        let model = context.model_for(model, None)?;
        let slot = context.plain_calls.try_acquire(user).ok_or(ServiceError::TooManyPlainCalls)?;
        let GivenInput { messages, system, sampling, .. } = input;
        let (tools, tool_choice) = (Arc::from([]), ToolChoice::None);
        let stream = model.client().stream(ModelRequest { system, messages, tools, tool_choice, sampling });
        let (told, events) = mpsc::channel(MAX_WAITING_PLAIN_EVENTS);
        let task_context = Arc::clone(context);
        context.spawn(async move { pass_on(&task_context, stream, &told, slot).await });
        Ok(events)
    }
}

/// Passes on what the model says until it has ended, its time is over, or nobody listens.
async fn pass_on(context: &Context, mut stream: ModelStream, told: &mpsc::Sender<PlainEvent>, _slot: Slot) {
    let limit = context.agent.limits().turn_time;
    let deadline = Instant::now() + limit;
    loop {
        let next = tokio::select! {
            biased;
            () = told.closed() => return,
            () = context.shut_down.cancelled() => Some(PlainEvent::ShutDown),
            event = timeout_at(deadline, stream.next()) => match event {
                Ok(event) => event_of(event),
                Err(_) => Some(PlainEvent::Failed(ModelError::Timeout { seconds: limit.as_secs() })),
            },
        };
        let Some(next) = next else { continue };
        let is_last = !matches!(next, PlainEvent::Text(_));
        if told.send(next).await.is_err() || is_last {
            return;
        }
    }
}

fn event_of(event: Option<Result<ModelEvent, ModelError>>) -> Option<PlainEvent> {
    let broken_off = || ModelError::BadStream { detail: "it ended without saying that it was finished".to_owned() };
    match event.unwrap_or_else(|| Err(broken_off())) {
        Ok(ModelEvent::TextDelta(text)) => Some(PlainEvent::Text(text)),
        Ok(ModelEvent::Ended { stop_reason, usage }) => {
            tracing::debug!(?usage, "a model was asked once");
            Some(PlainEvent::Ended { stop_reason, usage })
        }
        // Nothing is asked again once there is text, and without tools there is nothing to call.
        Ok(
            ModelEvent::Attempt(_)
            | ModelEvent::RetryIn(_)
            | ModelEvent::CallGrew { .. }
            | ModelEvent::ToolCall(_)
            | ModelEvent::Opaque(_),
        ) => None,
        Err(error) => Some(PlainEvent::Failed(error)),
    }
}
