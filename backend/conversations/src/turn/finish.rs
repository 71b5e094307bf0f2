//! Stores the end of a turn's run and sends it to the subscribers. Each run has at most one stored end.
//!
//! If the database rejects the end, stores less: it shrinks the unstored calls, then writes a fallback end with
//! truncated text, and finally drops the unstored calls. The end of a turn without a journal is built from its rows.

use std::{slice, sync::Arc, time::Duration};

use backon::{BackoffBuilder as _, ExponentialBuilder};
use tallybook_agent::{AgentError, OUTCOME_UNKNOWN, RecordError};
use tallybook_database::{Database, broke_before_commit, now, with_retries};
use tallybook_protocol::{
    AnswerMode, ChatEvent, MessageEnd, MessageFile, MessageId, MessageStatus, Reasoning, ToolCall, TurnError, Usage,
    first_bytes,
};

use crate::{
    context::Context,
    journal::{
        EventId, PartialAnswer, TurnLog,
        stored::{self, EncodedEvent},
    },
    limits::MAX_FALLBACK_END_BYTES,
    models::Model,
    store::{
        ConversationId, api_clients, conversations,
        message_files::{self, MessageFileRow},
        messages, model_calls, plans, reasonings,
        rows::{MessageRow, ToolCallRow},
        summaries, tool_calls,
        turns::{TurnEnd, TurnRows},
    },
    turn::recorder::{record_error, writer::TurnWriter},
};

/// Delay before the first retry of storing the end. Each further delay is twice as long.
const FIRST_DELAY: Duration = Duration::from_millis(250);

/// Maximum delay between retries.
const MAX_DELAY: Duration = Duration::from_secs(2);

/// Number of consecutive attempts with a broken connection after which an end counts as rejected. Only attempts after
/// which the database still answers other statements count. In that case, something between the server and the database
/// probably blocks the end, for example because of its size.
const MAX_BREAKS: u32 = 3;

/// Error message that a fallback end stores for the answer.
pub(crate) const REJECTED: &str = "The database rejected the end of this answer, so only part of it is stored. Ask for less at once. The server's log has the cause.";

/// Error code that a fallback end stores for the answer.
pub(crate) const REJECTED_CODE: &str = "storage_rejected";

/// The end of a turn's run. With the status `AwaitingApproval`, the turn resumes later.
pub(crate) struct RunEnd {
    pub(crate) status: MessageStatus,
    pub(crate) error: Option<EndError>,
    pub(crate) stop_reason: Option<String>,
    pub(crate) usage: Usage,
    /// Duration of the run.
    pub(crate) active: Duration,
}

impl RunEnd {
    pub(crate) fn new(status: MessageStatus) -> Self {
        Self { status, error: None, stop_reason: None, usage: Usage::default(), active: Duration::ZERO }
    }

    pub(crate) fn failed(status: MessageStatus, error: EndError) -> Self {
        Self { error: Some(error), ..Self::new(status) }
    }
}

/// Reason why a turn ended before its answer was complete. The message is shown to the user.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EndError {
    #[error(transparent)]
    Agent(AgentError),
    #[error("The server was restarted while it answered.")]
    ShutDown,
    #[error("The server failed unexpectedly. Try again; its log says more.")]
    Panicked,
}

impl EndError {
    /// Returns the stable error code.
    fn code(&self) -> &'static str {
        match self {
            Self::Agent(error) => error.code(),
            Self::ShutDown => "shutdown",
            Self::Panicked => "internal",
        }
    }
}

/// Writes the end of one run of a turn.
pub(crate) struct EndWriter<'a> {
    pub(crate) context: &'a Context,
    pub(crate) writer: &'a TurnWriter,
    pub(crate) log: &'a Arc<TurnLog>,
    pub(crate) conversation_id: ConversationId,
    /// The model that answered.
    pub(crate) model: &'a Model,
    pub(crate) mode: AnswerMode,
    /// `true` if an API client supplied the turn's input in place of the stored history.
    pub(crate) has_client_input: bool,
    /// `false` if the question is known to have no files.
    pub(crate) may_have_files: bool,
}

impl EndWriter<'_> {
    /// Stores and sends the end, and retries until the database accepts it. Returns the stored status, which is
    /// `Failed` for a fallback end. Gives up with `None` if the server shuts down, or if the database rejects even the
    /// fallback end. Recovery ends a turn that has no stored end.
    pub(crate) async fn write(&self, end: &RunEnd) -> Option<MessageStatus> {
        if let Some(EndError::Agent(AgentError::Record(error))) = &end.error
            && matches!(error, RecordError::Unavailable(_) | RecordError::Full(_))
        {
            self.disconnect_readers(error);
        }
        let pauses = ExponentialBuilder::new().with_min_delay(FIRST_DELAY).with_max_delay(MAX_DELAY);
        let mut pauses = pauses.without_max_times().build();
        let (mut is_fallback, mut breaks) = (false, 0);
        loop {
            let written = if is_fallback {
                with_retries(|| self.try_write_fallback()).await
            } else {
                with_retries(|| self.try_write(end)).await
            };
            let Err(error) = written else {
                return Some(if is_fallback { MessageStatus::Failed } else { end.status });
            };
            let is_break = broke_before_commit(&error) && self.context.db.reader().now().await.is_ok();
            breaks = if is_break { breaks + 1 } else { 0 };
            let error = record_error(error);
            let cause = std::error::Error::source(&error).map(ToString::to_string);
            if matches!(error, RecordError::Rejected(_)) || breaks >= MAX_BREAKS {
                breaks = 0;
                if self.writer.shrink_calls() {
                    tracing::error!(cause, "calls of a turn cannot be stored whole");
                } else if !is_fallback {
                    tracing::error!(cause, "the end of a turn cannot be stored whole");
                    is_fallback = true;
                } else if self.writer.drop_calls() {
                    tracing::error!(cause, "calls of a turn cannot be stored");
                } else {
                    tracing::error!(cause, "the end of a turn cannot be stored");
                    self.disconnect_readers(&error);
                    return None;
                }
                continue;
            }
            tracing::warn!(cause, "the end of a turn could not be stored yet");
            self.disconnect_readers(&error);
            let pause = pauses.next().unwrap_or(MAX_DELAY);
            self.context.shut_down.run_until_cancelled(tokio::time::sleep(pause)).await?;
        }
    }

    /// Sends the subscribers the error that keeps the end from being stored, and ends their streams. When they
    /// reconnect, they get the end once it is stored.
    fn disconnect_readers(&self, error: &RecordError) {
        if self.log.has_ended() {
            return;
        }
        self.log.append_unnumbered(ChatEvent::Error(TurnError {
            error: error.to_string(),
            code: error.code().to_owned(),
            user_message_id: None,
            assistant_message_id: None,
        }));
        self.context.journal.close(self.log);
    }

    /// Stores the end in one transaction, then sends the terminal event.
    async fn try_write(&self, end: &RunEnd) -> sqlx::Result<()> {
        self.writer.settle().await?;
        let (partial, tool_calls) = self.log.partial_and_calls();
        // Most answers are complete and all their calls have ended, so that there is nothing to change.
        let may_have_open_calls =
            end.status != MessageStatus::Complete || tool_calls.iter().any(|call| call.status.is_open());
        let event = self.last_event(end, &partial, tool_calls).await?;
        let encoded = EncodedEvent::of(&event)?;
        let PartialAnswer { content, reasoning, .. } = partial;
        let error = end.error.as_ref().map(ToString::to_string);
        let row = TurnEnd {
            content: &content,
            status: end.status,
            error: error.as_deref(),
            error_code: end.error.as_ref().map(EndError::code),
            stop_reason: end.stop_reason.as_deref(),
            active: end.active,
        };
        self.store_and_send(row, &reasoning, may_have_open_calls, (event, encoded)).await
    }

    /// Stores and sends the fallback end: the status `failed`, and at most [`MAX_FALLBACK_END_BYTES`] of the text.
    async fn try_write_fallback(&self) -> sqlx::Result<()> {
        self.writer.settle().await?;
        let content = self.log.read_text(|text| first_bytes(text, MAX_FALLBACK_END_BYTES).to_owned());
        let row = TurnEnd {
            content: &content,
            status: MessageStatus::Failed,
            error: Some(REJECTED),
            error_code: Some(REJECTED_CODE),
            stop_reason: None,
            active: Duration::ZERO,
        };
        let TurnRows { user_message_id, assistant_message_id: message_id, .. } = self.writer.rows();
        let event = error_event(message_id, Some(user_message_id), REJECTED, REJECTED_CODE);
        let encoded = EncodedEvent::of(&event)?;
        self.store_and_send(row, &[], true, (event, encoded)).await
    }

    /// Stores the end and its event in one transaction, then sends the event. Does nothing if this run no longer owns
    /// the turn.
    async fn store_and_send(
        &self,
        row: TurnEnd<'_>,
        reasoning: &[Reasoning],
        may_have_open_calls: bool,
        (event, encoded): (ChatEvent, EncodedEvent),
    ) -> sqlx::Result<()> {
        let message_id = self.writer.rows().assistant_message_id;
        let Some(mut write) = self.writer.begin_end(row).await? else {
            tracing::warn!(%message_id, "a turn was already ended by another process");
            return Ok(());
        };
        reasonings::create_missing(&mut write.tx, message_id, reasoning).await?;
        if may_have_open_calls && row.status != MessageStatus::AwaitingApproval {
            tool_calls::end_open_tool_calls(&mut write.tx, message_id, OUTCOME_UNKNOWN).await?;
        }
        if self.has_client_input && row.status == MessageStatus::Complete {
            api_clients::delete_turn_input(&mut write.tx, message_id).await?;
        }
        write.commit(slice::from_ref(&encoded)).await?;
        self.context.turn_counts.count_end(row.status);
        self.log.append_encoded(event, encoded, now());
        Ok(())
    }

    /// Returns the last event of the run. `tool_calls` are the calls that were sent to the subscribers.
    async fn last_event(
        &self,
        end: &RunEnd,
        partial: &PartialAnswer,
        mut tool_calls: Vec<ToolCall>,
    ) -> sqlx::Result<ChatEvent> {
        let TurnRows { user_message_id, assistant_message_id: message_id, .. } = self.writer.rows();
        let (mut usage, mut conversation_deleted) = (end.usage, false);
        if !matches!(end.status, MessageStatus::Complete | MessageStatus::AwaitingApproval | MessageStatus::Failed) {
            self.writer.store().await?;
            // If the turn did not complete, the database may contain calls and steps that were never sent.
            let end_if_open = |call: &mut ToolCallRow| call.end_if_open(OUTCOME_UNKNOWN);
            tool_calls = tool_calls::list_changed_tool_calls_of(&self.context.db, message_id, end_if_open).await?;
            usage = model_calls::find_usage(&self.context.db, message_id).await?;
            // Subscribers may receive this end before the feed reports the deletion.
            conversation_deleted = conversations::is_deleted(&self.context.db, self.conversation_id).await?;
        }
        let end = MessageEnd {
            assistant_message_id: message_id,
            content: partial.content.clone(),
            tool_calls,
            reasoning: partial.reasoning.clone(),
            plan: partial.plan.clone(),
            mode: self.mode,
            status: end.status,
            error: end.error.as_ref().map(ToString::to_string),
            error_code: end.error.as_ref().map(|error| error.code().to_owned()),
            stop_reason: end.stop_reason.clone(),
            usage,
            provider: Some(self.model.client().info().provider.clone()),
            model: Some(self.model.name().to_owned()),
            context: if self.writer.has_whole_context() {
                None
            } else {
                summaries::find_truncation(&self.context.db, message_id).await?
            },
            files: if self.may_have_files {
                files_of(&self.context.db, Some(user_message_id)).await?
            } else {
                Vec::new()
            },
            conversation_deleted,
        };
        Ok(terminal_event(end, Some(user_message_id)))
    }
}

/// Returns the files of a question, each with the part that the model received.
async fn files_of(db: &Database, question: Option<MessageId>) -> sqlx::Result<Vec<MessageFile>> {
    let Some(question) = question else { return Ok(Vec::new()) };
    let rows = message_files::list_of_message(db, question).await?;
    Ok(rows.into_iter().map(MessageFileRow::into_file).collect())
}

/// Returns the terminal event of a run: an error if the run failed, and otherwise the whole message.
pub(crate) fn terminal_event(end: MessageEnd, user_message_id: Option<MessageId>) -> ChatEvent {
    if end.status == MessageStatus::Failed {
        let (error, code) = (end.error.unwrap_or_default(), end.error_code.unwrap_or_default());
        return error_event(end.assistant_message_id, user_message_id, &error, &code);
    }
    ChatEvent::MessageEnd(end)
}

/// Returns the terminal event of a failed run.
pub(crate) fn error_event(
    message_id: MessageId,
    user_message_id: Option<MessageId>,
    error: &str,
    code: &str,
) -> ChatEvent {
    ChatEvent::Error(TurnError {
        error: error.to_owned(),
        code: code.to_owned(),
        user_message_id,
        assistant_message_id: Some(message_id),
    })
}

/// Returns the end of a stored answer. `partial` has its text, reasoning and plan.
pub(crate) async fn message_end(
    db: &Database,
    message: MessageRow,
    partial: PartialAnswer,
    tool_calls: Vec<ToolCall>,
) -> sqlx::Result<MessageEnd> {
    let PartialAnswer { content, reasoning, plan } = partial;
    let usage = model_calls::find_usage(db, message.id).await?;
    let files = files_of(db, message.parent_id).await?;
    Ok(MessageEnd {
        assistant_message_id: message.id,
        mode: message.answer_mode(),
        error: message.error,
        error_code: message.error_code,
        stop_reason: message.stop_reason,
        content,
        tool_calls,
        reasoning,
        plan,
        status: message.status,
        usage,
        provider: message.provider,
        model: message.model,
        context: message.context.into_truncation(),
        files,
        conversation_deleted: false,
    })
}

/// Returns the log of a finished turn, with its end. If the turn was resumed in the meantime, the log has no events and
/// its streams end, so that the subscribers reconnect.
pub(crate) async fn read_end(
    db: &Database,
    conversation_id: ConversationId,
    message_id: MessageId,
    epoch: i32,
) -> sqlx::Result<Arc<TurnLog>> {
    let found = messages::find_message(db, conversation_id, message_id).await?;
    let Some(mut message) = found.filter(|m| m.epoch == epoch && m.status != MessageStatus::Streaming) else {
        let log = TurnLog::copy(message_id, epoch);
        log.end();
        return Ok(Arc::new(log));
    };
    let seq = stored::find_last_seq(db, message_id, epoch).await?.unwrap_or_default();
    let id = EventId { message_id, epoch, seq };
    let tool_calls = tool_calls::list_truncated_tool_calls_of(db, message_id).await?;
    let reasoning = reasonings::list_of_turn(db, message_id).await?;
    let plan = plans::find_of_turn(db, message_id).await?;
    let partial = PartialAnswer { content: std::mem::take(&mut message.content), reasoning, plan };
    // An error event has no text and no calls, so the log holds them separately.
    let (partial_beside, calls_beside) = match message.status {
        MessageStatus::Failed => (partial.clone(), tool_calls.clone()),
        _ => (PartialAnswer::default(), Vec::new()),
    };
    let user_message_id = message.parent_id;
    let event = terminal_event(message_end(db, message, partial, tool_calls).await?, user_message_id);
    Ok(Arc::new(TurnLog::of_end(id, event, partial_beside, calls_beside)))
}
