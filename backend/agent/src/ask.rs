//! One model call of a step: reads its stream to the end, forwards the text as it arrives, and keeps the blocks.
//! Redacts secret arguments as soon as a call is parsed, before anything stores, streams or logs it.

use std::{
    collections::{HashMap, HashSet},
    pin::{Pin, pin},
};

use futures_util::{StreamExt, future::join};
use tallybook_llm::{
    AssistantBlock, ModelClient, ModelError, ModelEvent, ModelRequest, ModelStream, StopReason, ToolCallRequest,
};
use tallybook_protocol::{ModelInfo, Usage};
use tallybook_tools::{Secrets, redact_arguments};
use tokio::time::Instant;
use tracing::{Instrument as _, Span};

use super::{
    error::AgentError,
    recorder::{Activity, ModelCallRecord, Purpose, TurnRecorder},
    result::bounded_call,
    spans,
    turn::{AvailableTools, PlannedCall, SecretInput, TurnDeadline},
};

/// A model's answer to one call.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) blocks: Vec<AssistantBlock>,
    /// The full arguments of calls that are redacted in `blocks`, by call ID.
    secret_inputs: HashMap<String, SecretInput>,
    pub(crate) stop_reason: StopReason,
    pub(crate) usage: Usage,
    purpose: Purpose,
    attempts: u32,
    asked_at: Instant,
    first_event_at: Option<Instant>,
    ended_at: Instant,
}

impl Answer {
    pub(crate) fn new(purpose: Purpose) -> Self {
        let now = Instant::now();
        Self {
            blocks: Vec::new(),
            secret_inputs: HashMap::new(),
            stop_reason: StopReason::Other("unfinished".to_owned()),
            usage: Usage::default(),
            purpose,
            attempts: 1,
            asked_at: now,
            first_event_at: None,
            ended_at: now,
        }
    }

    /// Returns the tool calls in order.
    pub(crate) fn calls(&self) -> Vec<PlannedCall> {
        let calls = self.blocks.iter().filter_map(AssistantBlock::tool_call).cloned();
        let planned = |(position, request): (u32, ToolCallRequest)| {
            let secret = self.secret_inputs.get(&request.id).cloned();
            PlannedCall { position, request, waited: None, secret }
        };
        (0..).zip(calls).map(planned).collect()
    }

    /// Removes all calls, because none were allowed or the answer was aborted. So no call without a result is kept.
    pub(crate) fn drop_calls(&mut self) {
        self.blocks.retain(|block| block.tool_call().is_none());
    }

    pub(crate) fn record(&self, step: u32, model: &ModelInfo, error: Option<&AgentError>) -> ModelCallRecord {
        let millis = |until: Instant| i64::try_from((until - self.asked_at).as_millis()).unwrap_or(i64::MAX);
        ModelCallRecord {
            step,
            purpose: self.purpose,
            provider: model.provider.clone(),
            model: model.model.clone(),
            stop_reason: error.is_none().then(|| self.stop_reason.as_str().to_owned()),
            usage: self.usage,
            attempts: self.attempts,
            time_to_first_token_ms: self.first_event_at.map(millis),
            duration_ms: millis(self.ended_at),
            error: error.map(|error| format!("{}: {error}", error.code())),
            // Blocks consist of strings only, which always serialize.
            blocks: serde_json::to_string(&self.blocks_to_keep()).unwrap_or_else(|_| "[]".to_owned()),
        }
    }

    fn blocks_to_keep(&self) -> Vec<&AssistantBlock> {
        let secrets = || self.secret_inputs.values().map(|secret| &secret.values);
        self.blocks.iter().filter(|block| !repeats(block, secrets())).collect()
    }

    /// Begins a retry: discards the output of the previous attempt, because it is not part of this answer.
    pub(crate) fn begin(&mut self, attempt: u32) {
        self.attempts = attempt;
        self.blocks.clear();
        self.secret_inputs.clear();
        self.first_event_at = None;
    }

    /// Marks the end of the stream.
    pub(crate) fn end(&mut self) {
        self.ended_at = Instant::now();
    }

    /// Adds the usage and the error to a trace span.
    pub(crate) fn record_on(&self, span: &Span, error: Option<&AgentError>) {
        spans::record_usage(span, self.usage);
        if let Some(error) = error {
            spans::record_failure(span, error.code());
        }
    }

    /// Returns the text of the answer.
    pub(crate) fn text(&self) -> String {
        let text = |block: &AssistantBlock| match block {
            AssistantBlock::Text { text } => text.clone(),
            AssistantBlock::ToolCall(_) | AssistantBlock::Opaque { .. } => String::new(),
        };
        self.blocks.iter().map(text).collect()
    }

    /// Removes all text and all calls so far, because they were reasoning.
    pub(crate) fn take_back(&mut self) {
        self.blocks.retain(|block| matches!(block, AssistantBlock::Opaque { .. }));
        self.secret_inputs.clear();
    }

    pub(crate) fn add_text(&mut self, delta: &str) {
        self.first_event_at.get_or_insert_with(Instant::now);
        if let Some(AssistantBlock::Text { text }) = self.blocks.last_mut() {
            text.push_str(delta);
        } else {
            self.blocks.push(AssistantBlock::Text { text: delta.to_owned() });
        }
    }
}

/// Calls the model once. An error that ends the answer early is recorded as the step's error before it is returned,
/// unless the recorder itself failed. Secrets in the calls are redacted.
pub(crate) async fn ask(
    model: &dyn ModelClient,
    step: u32,
    request: ModelRequest,
    redaction: &Redaction<'_>,
    recorder: &mut impl TurnRecorder,
    turn_deadline: &TurnDeadline<'_>,
) -> Result<Answer, AgentError> {
    let mut answer = Answer::new(Purpose::Answer);
    let span = spans::chat(model.info());
    let followed =
        follow(model, step, request, redaction, &mut answer, recorder, turn_deadline).instrument(span.clone()).await;
    answer.end();
    answer.record_on(&span, followed.as_ref().err());
    match followed {
        Ok(()) => Ok(answer),
        Err(error @ AgentError::Record(_)) => Err(error),
        Err(error) => {
            // Calls of an aborted answer never ran. They must not look as if they were waiting for results.
            answer.drop_calls();
            recorder.model_called(&answer.record(step, model.info(), Some(&error))).await?;
            Err(match error {
                // Part of the answer is shown already, so the caller must not retry with a shorter history.
                AgentError::Model(ModelError::ContextTooLong { detail, .. }) if !answer.text().is_empty() => {
                    ModelError::BadStream { detail }.into()
                }
                error => error,
            })
        }
    }
}

async fn follow(
    model: &dyn ModelClient,
    step: u32,
    request: ModelRequest,
    redaction: &Redaction<'_>,
    answer: &mut Answer,
    recorder: &mut impl TurnRecorder,
    turn_deadline: &TurnDeadline<'_>,
) -> Result<(), AgentError> {
    // Any end of this function drops the stream, which closes the connection to the provider.
    let mut stream = model.stream(request);
    let mut seen_ids = HashSet::new();
    // One wait for the whole answer, because a timer for each event would cost as much as reading the event.
    let mut ended = pin!(turn_deadline.cancelled_or_elapsed());
    let mut next_event = begin(&mut stream, answer, recorder, ended.as_mut()).await?;
    loop {
        match next_event {
            ModelEvent::RetryIn(wait) => recorder.activity(Activity::Retrying(wait)),
            ModelEvent::ToolCallProgress { name, bytes } => {
                recorder.activity(Activity::WritingCall { tool_name: &name, bytes });
            }
            ModelEvent::Attempt(attempt) => answer.begin(attempt),
            ModelEvent::TextDelta(delta) => {
                answer.add_text(&delta);
                recorder.text(step, &delta).await?;
            }
            ModelEvent::ReasoningDelta(delta) => recorder.reasoning(step, &delta),
            ModelEvent::TextWasReasoning(text) => {
                answer.take_back();
                seen_ids.clear();
                recorder.text_was_reasoning(step, &text).await?;
            }
            // A repeated ID counts once: results are matched by ID, so the second call could not be distinguished from
            // the first.
            ModelEvent::ToolCall(call) => {
                if seen_ids.insert(call.id.clone()) {
                    let call = ToolCallRequest { written_by: Some(model.info().clone()), ..call };
                    let (call, secret) = redaction.redact(bounded_call(call));
                    answer.secret_inputs.extend(secret.map(|secret| (call.id.clone(), secret)));
                    answer.blocks.push(AssistantBlock::ToolCall(call));
                }
            }
            ModelEvent::Opaque(json) => {
                let ModelInfo { provider, model } = model.info().clone();
                answer.blocks.push(AssistantBlock::Opaque { provider, model: Some(model), json });
            }
            ModelEvent::Ended { stop_reason, usage } => {
                answer.stop_reason = stop_reason;
                answer.usage = usage;
                return Ok(());
            }
        }
        next_event = next(&mut stream, answer, ended.as_mut()).await?;
    }
}

/// Reads the first event of the model's stream while the recorder settles the previous step's calls, which the model
/// need not wait for. Returns the event once the calls are settled.
async fn begin(
    stream: &mut ModelStream,
    answer: &mut Answer,
    recorder: &mut impl TurnRecorder,
    mut ended: Pin<&mut impl Future<Output = AgentError>>,
) -> Result<ModelEvent, AgentError> {
    let first = async {
        loop {
            match next(stream, answer, ended.as_mut()).await {
                Ok(ModelEvent::Attempt(attempt)) => answer.begin(attempt),
                first => return first,
            }
        }
    };
    let (first, settled) = join(first, recorder.settle()).await;
    settled?;
    first
}

/// Returns the next event of the model's stream. Fails with the reason in `ended` if the turn must end before.
async fn next(
    stream: &mut ModelStream,
    answer: &mut Answer,
    ended: Pin<&mut impl Future<Output = AgentError>>,
) -> Result<ModelEvent, AgentError> {
    let event = tokio::select! {
        biased;
        error = ended => return Err(error),
        event = stream.next() => event,
    };
    let event = event.unwrap_or_else(|| {
        Err(ModelError::BadStream { detail: "the stream ended without a final event".to_owned() })
    })?;
    if !matches!(event, ModelEvent::Attempt(_) | ModelEvent::RetryIn(_) | ModelEvent::ToolCallProgress { .. }) {
        answer.first_event_at.get_or_insert_with(Instant::now);
    }
    Ok(event)
}

/// Returns `true` if a block contains one of these secrets. Only opaque blocks are checked: they hold a model's
/// reasoning, which must be kept as it is or not at all.
fn repeats<'a>(block: &AssistantBlock, mut secrets: impl Iterator<Item = &'a Secrets>) -> bool {
    matches!(block, AssistantBlock::Opaque { json, .. } if secrets.any(|values| values.occur_in(json)))
}

/// The redaction of the calls of a turn.
pub(crate) struct Redaction<'a> {
    pub(crate) available: &'a AvailableTools,
    /// Secrets that no tool may receive. A call with such a secret does not run.
    pub(crate) secrets: &'a Secrets,
}

impl Redaction<'_> {
    /// Redacts the arguments that the schema of one of Tallybook's tools marks as secret. Returns the redacted call
    /// and, if the schema marks secrets in it, the full arguments to run it with. The schemas of client tools are not
    /// used: their arguments are the API client's responsibility.
    pub(crate) fn redact(&self, mut call: ToolCallRequest) -> (ToolCallRequest, Option<SecretInput>) {
        call.input_text = self.secrets.redact(call.input_text).into_owned();
        let schema = self.available.find_schema(&call.name);
        let Some(redacted) = schema.and_then(|schema| redact_arguments(schema, &call.input_text)) else {
            return (call, None);
        };
        // A call whose arguments cannot be parsed does not run.
        let is_read = redacted.text.trim_start().starts_with('{');
        let whole = std::mem::replace(&mut call.input_text, redacted.text);
        let values = Secrets::of_arguments(redacted.values);
        self.secrets.remember(&values);
        (call, is_read.then_some(SecretInput { input_text: whole, values }))
    }
}
