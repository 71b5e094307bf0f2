//! Storing and telling how a turn ended. Each turn ends exactly once, whatever its end is like: where the database refuses
//! one, a smaller one is stored that fits everywhere.

use std::{sync::Arc, time::Duration};
use tallybook_database::{broke_before_commit, now, with_retries};

use backon::{BackoffBuilder as _, ExponentialBuilder};
use tallybook_agent::{AgentError, CUT_OFF, RecordError};
use tallybook_protocol::{AnswerMode, ChatEvent, MessageEnd, MessageStatus, Reasoning, ToolCall, TurnError, Usage};

use super::{
    super::{
        context::Context,
        limits::MAX_FALLBACK_END_BYTES,
        store::{
            model_calls, programs, reasonings,
            rows::ToolCallRow,
            summaries, tool_calls,
            turns::{self, TurnEnd, TurnRows},
        },
    },
    write_error::record_error,
    writer::TurnWriter,
};
use crate::{
    journal::{TurnLog, Words, stored::EncodedEvent},
    models::Model,
};

/// The first pause before writing the end of a turn is tried again; each one is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

/// The longest such pause.
const MAX_PAUSE: Duration = Duration::from_secs(2);

/// If the connection breaks so many times in a row while an end is stored, and the database answers in between, the end counts
/// as rejected: something on the way does not let it through.
const MAX_BREAKS: u32 = 3;

/// What the reader is told of an answer with a fallback end.
pub(super) const REJECTED: &str = "The database did not take the end of this answer, so it is kept in part. Ask for less at once; the server's log says why.";

/// The code of that.
pub(super) const REJECTED_CODE: &str = "storage_rejected";

/// How a turn ended, as it is stored and told.
pub(super) struct End {
    pub(super) status: MessageStatus,
    pub(super) error: Option<EndError>,
    pub(super) stop_reason: Option<String>,
    pub(super) usage: Usage,
    /// How long the run took.
    pub(super) active: Duration,
}

impl End {
    pub(super) fn new(status: MessageStatus) -> Self {
        Self { status, error: None, stop_reason: None, usage: Usage::default(), active: Duration::ZERO }
    }

    pub(super) fn failed(status: MessageStatus, error: EndError) -> Self {
        Self { error: Some(error), ..Self::new(status) }
    }
}

/// Why a turn ended before its answer was whole, in words for the reader.
#[derive(Debug, thiserror::Error)]
pub(super) enum EndError {
    #[error(transparent)]
    Agent(AgentError),
    #[error("The server was restarted while it answered.")]
    ShutDown,
    #[error("The server failed unexpectedly. Try again; its log says more.")]
    Panicked,
}

impl EndError {
    /// The stable name of the cause.
    fn code(&self) -> &'static str {
        match self {
            Self::Agent(error) => error.code(),
            Self::ShutDown => "shutdown",
            Self::Panicked => "internal",
        }
    }
}

/// Writes the end of one turn.
pub(super) struct EndWriter<'a> {
    pub(super) context: &'a Context,
    pub(super) writer: &'a TurnWriter,
    pub(super) log: &'a Arc<TurnLog>,
    /// What answered.
    pub(super) model: &'a Model,
    pub(super) mode: AnswerMode,
    /// Whether a program told the turn what it was to know.
    pub(super) is_given: bool,
}

impl EndWriter<'_> {
    /// Stores and tells how the turn ended, as soon as the database takes it. Gives up when the server stops, when somebody
    /// else has ended the turn, and when not even a fallback end is taken: then recovery sees to it.
    pub(super) async fn write(&self, end: &End) {
        if let Some(EndError::Agent(AgentError::Record(error))) = &end.error
            && matches!(error, RecordError::Unavailable(_) | RecordError::Full(_))
        {
            self.disconnect_readers(error);
        }
        let pauses = ExponentialBuilder::new().with_min_delay(FIRST_PAUSE).with_max_delay(MAX_PAUSE);
        let mut pauses = pauses.without_max_times().build();
        let (mut is_fallback, mut breaks) = (false, 0);
        loop {
            let written = if is_fallback {
                with_retries(|| self.try_write_fallback()).await
            } else {
                with_retries(|| self.try_write(end)).await
            };
            let Err(error) = written else { return };
            let is_break = broke_before_commit(&error) && turns::database_now(&self.context.db).await.is_ok();
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
                    return;
                }
                continue;
            }
            tracing::warn!(cause, "the end of a turn could not be stored yet");
            self.disconnect_readers(&error);
            let pause = pauses.next().unwrap_or(MAX_PAUSE);
            if self.context.shut_down.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return;
            }
        }
    }

    /// Tells the readers at once that what happens cannot be stored. It is the last they hear here: they come back for
    /// the end, which is told once it is stored.
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
    async fn try_write(&self, end: &End) -> sqlx::Result<()> {
        self.writer.settle().await?;
        let (words, tool_calls) = self.log.words_and_calls();
        let event = self.terminal_event(end, &words, tool_calls).await?;
        let encoded = EncodedEvent::of(&event)?;
        let Words { content, reasoning, .. } = words;
        let error = end.error.as_ref().map(ToString::to_string);
        let row = TurnEnd {
            content: &content,
            status: end.status,
            error: error.as_deref(),
            error_code: end.error.as_ref().map(EndError::code),
            stop_reason: end.stop_reason.as_deref(),
            active: end.active,
        };
        self.store_and_send(row, &reasoning, event, encoded).await
    }

    /// The same with an end that every database takes.
    async fn try_write_fallback(&self) -> sqlx::Result<()> {
        self.writer.settle().await?;
        let content = self.log.read_text(|text| text[..text.floor_char_boundary(MAX_FALLBACK_END_BYTES)].to_owned());
        let row = TurnEnd {
            content: &content,
            status: MessageStatus::Failed,
            error: Some(REJECTED),
            error_code: Some(REJECTED_CODE),
            stop_reason: None,
            active: Duration::ZERO,
        };
        let event = self.failed_event(REJECTED.to_owned(), REJECTED_CODE);
        let encoded = EncodedEvent::of(&event)?;
        self.store_and_send(row, &[], event, encoded).await
    }

    async fn store_and_send(
        &self,
        row: TurnEnd<'_>,
        reasoning: &[Reasoning],
        event: ChatEvent,
        encoded: EncodedEvent,
    ) -> sqlx::Result<()> {
        let TurnRows { assistant_message_id: message_id, epoch, .. } = self.writer.rows();
        let Some(mut write) = self.writer.begin().await? else {
            tracing::warn!(%message_id, "a turn had been ended by somebody else");
            return Ok(());
        };
        turns::end_turn(&mut write.tx, message_id, epoch, row).await?;
        reasonings::create_missing(&mut write.tx, message_id, reasoning).await?;
        if row.status != MessageStatus::AwaitingApproval {
            tool_calls::end_open_tool_calls(&mut write.tx, message_id, CUT_OFF).await?;
        }
        if self.is_given && row.status == MessageStatus::Complete {
            programs::delete_turn_input(&mut write.tx, message_id).await?;
        }
        self.writer.create_next_event(&mut write.tx, &encoded).await?;
        write.commit().await?;
        self.context.turn_counts.count_end(row.status);
        self.log.append_encoded(event, encoded, now());
        Ok(())
    }

    /// `tool_calls` are those that readers were told of.
    async fn terminal_event(&self, end: &End, words: &Words, mut tool_calls: Vec<ToolCall>) -> sqlx::Result<ChatEvent> {
        if let (MessageStatus::Failed, Some(error)) = (end.status, &end.error) {
            return Ok(self.failed_event(error.to_string(), error.code()));
        }
        let message_id = self.writer.rows().assistant_message_id;
        let mut usage = end.usage;
        if !matches!(end.status, MessageStatus::Complete | MessageStatus::AwaitingApproval) {
            self.writer.store().await?;
            // Of a turn that broke off, the rows may know of calls and steps of which nobody was told.
            let end_if_open = |call: &mut ToolCallRow| call.end_if_open(CUT_OFF);
            tool_calls = tool_calls::list_changed_tool_calls_of(&self.context.db, message_id, end_if_open).await?;
            usage = model_calls::find_usage(&self.context.db, message_id).await?;
        }
        Ok(ChatEvent::MessageEnd(MessageEnd {
            assistant_message_id: message_id,
            content: words.content.clone(),
            tool_calls,
            reasoning: words.reasoning.clone(),
            plan: words.plan.clone(),
            mode: self.mode,
            status: end.status,
            error: end.error.as_ref().map(ToString::to_string),
            error_code: end.error.as_ref().map(|error| error.code().to_owned()),
            stop_reason: end.stop_reason.clone(),
            usage,
            provider: Some(self.model.client().info().provider.clone()),
            model: Some(self.model.name().to_owned()),
            told: summaries::find_told(&self.context.db, message_id).await?,
        }))
    }

    fn failed_event(&self, error: String, code: &str) -> ChatEvent {
        let TurnRows { user_message_id, assistant_message_id, .. } = self.writer.rows();
        ChatEvent::Error(TurnError {
            error,
            code: code.to_owned(),
            user_message_id: Some(user_message_id),
            assistant_message_id: Some(assistant_message_id),
        })
    }
}
