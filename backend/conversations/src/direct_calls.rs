//! Direct model calls for API clients: no agent, no tools, no conversation. The prompt is exactly what the client
//! sends, and only the usage is stored.

use std::sync::Arc;

use futures_util::StreamExt as _;
use tallybook_database::with_retries;
use tallybook_llm::{ModelError, ModelEvent, ModelRequest, ModelStream, StopReason, ToolChoice, tokens};
use tallybook_protocol::Usage;
use tallybook_tools::Slot;
use tokio::{
    sync::mpsc,
    time::{Instant, timeout_at},
};

use crate::{
    ServiceError,
    admission::{self, Access, Request},
    context::Context,
    input::{check_file_count, find_attached},
    limits::MAX_WAITING_DIRECT_EVENTS,
    service::ConversationService,
    store::plain_calls::{self, PlainCall, PlainOutcome},
    turn::{ApiClientRequest, ClientInput, context::prompt_files::PromptFiles},
    user_limits::Weight,
};

/// An event of a direct model call. The last one is `Ended`, `Failed` or `ShutDown`.
#[derive(Debug)]
pub enum DirectCallEvent {
    /// More text of the answer.
    Text(String),
    /// All text of the answer so far was reasoning.
    TextWasReasoning,
    /// The answer is complete.
    Ended {
        /// Reason why the model stopped.
        stop_reason: StopReason,
        /// Token usage of the answer.
        usage: Usage,
    },
    /// The model could not be called, or its answer was aborted.
    Failed(ModelError),
    /// The server is shutting down.
    ShutDown,
}

impl ConversationService {
    /// Calls the model that a request names (the default if it names none) and returns a channel of its events.
    /// Dropping the receiver cancels the call. The call counts against the user's limits.
    pub async fn call_model(
        &self,
        access: &Access,
        request: ApiClientRequest,
        weight: Weight,
    ) -> Result<mpsc::Receiver<DirectCallEvent>, ServiceError> {
        let context = &self.context;
        if context.draining.is_cancelled() {
            return Err(ServiceError::ShuttingDown);
        }
        let ApiClientRequest { api_client, model, question, input, .. } = request;
        let user = api_client.user;
        let Access { models, limits, .. } = access;
        let model = &models.choose(model.as_deref(), None)?;
        check_file_count(&question)?;
        find_attached(context, user, &question, (models, model)).await?;
        let slot = context.direct_calls.try_acquire(user).ok_or(ServiceError::TooManyDirectCalls)?;
        let ClientInput { mut messages, system, sampling, .. } = Arc::unwrap_or_clone(input);
        PromptFiles::of_model(context, model, Arc::default()).load_all(user, &mut messages).await?;
        let (tools, tool_choice) = (Arc::from([]), ToolChoice::None);
        let request = ModelRequest { system, messages, tools, tool_choice, sampling, may_search: false };
        let tokens = tokens::of_request(&request) + model.window().answer;
        let request_of_user = Request { user, weight, tokens, prices: model.prices() };
        let reserved = admission::admit_request(context, limits, request_of_user).await?;
        let stream = model.client().stream(request);
        let (sender, events) = mpsc::channel(MAX_WAITING_DIRECT_EVENTS);
        let (context, info) = (Arc::clone(context), model.client().info().clone());
        let task_context = Arc::clone(&context);
        context.spawn(async move {
            let began = Instant::now();
            let outcome = pass_on(&task_context, stream, &sender, slot).await;
            let duration_ms = i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX);
            let how = outcome.word();
            task_context.work_counts.count_plain_call(&info.model, how, duration_ms, outcome.usage);
            let call = PlainCall { user, model: info, outcome, duration_ms };
            if let Err(error) = with_retries(|| plain_calls::create(&task_context.db, &call)).await {
                tracing::warn!(%error, "the usage of a direct model call could not be stored");
            }
            admission::settle(&task_context, reserved).await;
        });
        Ok(events)
    }
}

/// Forwards the model's events until the model has ended, the time limit is reached, or the receiver is dropped.
async fn pass_on(
    context: &Context,
    mut stream: ModelStream,
    sender: &mpsc::Sender<DirectCallEvent>,
    _slot: Slot,
) -> PlainOutcome {
    let limit = context.agent.limits().turn_time;
    let deadline = Instant::now() + limit;
    loop {
        let next = tokio::select! {
            biased;
            () = sender.closed() => return PlainOutcome::default(),
            () = context.shut_down.cancelled() => Some(DirectCallEvent::ShutDown),
            event = timeout_at(deadline, stream.next()) => match event {
                Ok(event) => event_of(event),
                Err(_) => Some(DirectCallEvent::Failed(ModelError::Timeout { seconds: limit.as_secs() })),
            },
        };
        let Some(next) = next else { continue };
        let outcome = match &next {
            DirectCallEvent::Text(_) | DirectCallEvent::TextWasReasoning => None,
            DirectCallEvent::Ended { stop_reason, usage } => {
                let stop_reason = Some(stop_reason.as_str().to_owned());
                Some(PlainOutcome { stop_reason, usage: *usage, error: None })
            }
            DirectCallEvent::Failed(error) => {
                Some(PlainOutcome { error: Some(error.code()), ..PlainOutcome::default() })
            }
            DirectCallEvent::ShutDown => Some(PlainOutcome { error: Some("shutting_down"), ..PlainOutcome::default() }),
        };
        let is_heard = sender.send(next).await.is_ok();
        match outcome {
            Some(outcome) => return outcome,
            None if !is_heard => return PlainOutcome::default(),
            None => {}
        }
    }
}

fn event_of(event: Option<Result<ModelEvent, ModelError>>) -> Option<DirectCallEvent> {
    let ended_early = || ModelError::BadStream { detail: "it ended without saying that it was finished".to_owned() };
    match event.unwrap_or_else(|| Err(ended_early())) {
        Ok(ModelEvent::TextDelta(text)) => Some(DirectCallEvent::Text(text)),
        Ok(ModelEvent::TextWasReasoning(_)) => Some(DirectCallEvent::TextWasReasoning),
        Ok(ModelEvent::Ended { stop_reason, usage }) => {
            tracing::debug!(?usage, "a direct model call ended");
            Some(DirectCallEvent::Ended { stop_reason, usage })
        }
        // Retries happen only before the first text, so there is nothing to discard. Without tools, no tool is called.
        Ok(
            ModelEvent::Attempt(_)
            | ModelEvent::RetryIn(_)
            | ModelEvent::ToolCallProgress { .. }
            | ModelEvent::ToolCall(_)
            | ModelEvent::ReasoningDelta(_)
            | ModelEvent::Opaque(_),
        ) => None,
        Err(error) => Some(DirectCallEvent::Failed(error)),
    }
}
