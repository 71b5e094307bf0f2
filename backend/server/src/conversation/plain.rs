//! Asking a model once, for a program: no tools, no conversation, and of it only what it used up is kept. What the model is told
//! is what the program says and nothing else.

use std::sync::Arc;
use tallybook_database::with_retries;

use futures_util::StreamExt as _;
use tallybook_llm::{ModelError, ModelEvent, ModelRequest, ModelStream, StopReason, ToolChoice, tokens};
use tallybook_protocol::Usage;
use tallybook_tools::Slot;
use tokio::{
    sync::mpsc,
    time::{Instant, timeout_at},
};

use super::{
    ServiceError,
    allowance::{self, Request},
    context::Context,
    limits::MAX_WAITING_PLAIN_EVENTS,
    person_limits::Weight,
    service::ConversationService,
    store::plain_calls::{self, PlainCall, PlainOutcome},
    turn::GivenInput,
};
use crate::accounts::UserId;

/// What comes of a model that is asked once. It ends with one of the last three.
#[derive(Debug)]
pub enum PlainEvent {
    /// More of its answer.
    Text(String),
    /// All of the answer so far was reasoning.
    TextWasReasoning,
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
    /// receiver ends it. It counts against the user's limits.
    pub async fn ask_plainly(
        &self,
        user: UserId,
        model: Option<&str>,
        input: GivenInput,
        weight: Weight,
    ) -> Result<mpsc::Receiver<PlainEvent>, ServiceError> {
        let context = &self.context;
        if context.draining.is_cancelled() {
            return Err(ServiceError::ShuttingDown);
        }
        let model = context.model_for(model, None)?;
        let slot = context.plain_calls.try_acquire(user).ok_or(ServiceError::TooManyPlainCalls)?;
        let GivenInput { messages, system, sampling, .. } = input;
        let (tools, tool_choice) = (Arc::from([]), ToolChoice::None);
        let request = ModelRequest { system, messages, tools, tool_choice, sampling, may_search: false };
        let tokens = tokens::of_request(&request) + model.window().answer;
        let reserved = allowance::admit_request(context, Request { user, weight, tokens }).await?;
        let stream = model.client().stream(request);
        let (told, events) = mpsc::channel(MAX_WAITING_PLAIN_EVENTS);
        let (context, info) = (Arc::clone(context), model.client().info().clone());
        let task_context = Arc::clone(&context);
        context.spawn(async move {
            let began = Instant::now();
            let outcome = pass_on(&task_context, stream, &told, slot).await;
            let duration_ms = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
            let how = outcome.word();
            task_context.work_counts.count_plain_call(&info.model, how, duration_ms, outcome.usage);
            let call = PlainCall { user, model: info, outcome, duration_ms };
            if let Err(error) = with_retries(|| plain_calls::create(&task_context.db, &call)).await {
                tracing::warn!(%error, "what a model used up that was asked once could not be stored");
            }
            allowance::settle(&task_context, reserved).await;
        });
        Ok(events)
    }
}

/// Passes on what the model says until it has ended, its time is over, or nobody listens.
async fn pass_on(
    context: &Context,
    mut stream: ModelStream,
    told: &mpsc::Sender<PlainEvent>,
    _slot: Slot,
) -> PlainOutcome {
    let limit = context.agent.limits().turn_time;
    let deadline = Instant::now() + limit;
    loop {
        let next = tokio::select! {
            biased;
            () = told.closed() => return PlainOutcome::default(),
            () = context.shut_down.cancelled() => Some(PlainEvent::ShutDown),
            event = timeout_at(deadline, stream.next()) => match event {
                Ok(event) => event_of(event),
                Err(_) => Some(PlainEvent::Failed(ModelError::Timeout { seconds: limit.as_secs() })),
            },
        };
        let Some(next) = next else { continue };
        let outcome = match &next {
            PlainEvent::Text(_) | PlainEvent::TextWasReasoning => None,
            PlainEvent::Ended { stop_reason, usage } => {
                let stop_reason = Some(stop_reason.as_str().to_owned());
                Some(PlainOutcome { stop_reason, usage: *usage, error: None })
            }
            PlainEvent::Failed(error) => Some(PlainOutcome { error: Some(error.code()), ..PlainOutcome::default() }),
            PlainEvent::ShutDown => Some(PlainOutcome { error: Some("shutting_down"), ..PlainOutcome::default() }),
        };
        let is_heard = told.send(next).await.is_ok();
        match outcome {
            Some(outcome) => return outcome,
            None if !is_heard => return PlainOutcome::default(),
            None => {}
        }
    }
}

fn event_of(event: Option<Result<ModelEvent, ModelError>>) -> Option<PlainEvent> {
    let broken_off = || ModelError::BadStream { detail: "it ended without saying that it was finished".to_owned() };
    match event.unwrap_or_else(|| Err(broken_off())) {
        Ok(ModelEvent::TextDelta(text)) => Some(PlainEvent::Text(text)),
        Ok(ModelEvent::TextWasReasoning(_)) => Some(PlainEvent::TextWasReasoning),
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
            | ModelEvent::ReasoningDelta(_)
            | ModelEvent::Opaque(_),
        ) => None,
        Err(error) => Some(PlainEvent::Failed(error)),
    }
}
