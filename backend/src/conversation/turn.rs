//! One turn from its spawn to its end. It belongs to the server, not to the connection that began it: readers come and
//! go, the turn goes on until it ends, is stopped, or the server shuts down.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt;
use tallybook_protocol::{ChatEvent, MessageEnd, MessageStatus, TurnError, Usage};
use tokio_util::sync::CancellationToken;

use super::{
    model::interrupt_open,
    recorder::{StoringRecorder, TurnWriter},
    repository::{
        calls,
        turns::{self, FIRST_EPOCH, TurnEnd, TurnRows},
    },
    service::Inner,
};
use crate::{
    accounts::UserId,
    agent::{AgentError, CUT_OFF, RecordError, TurnInput, TurnOutcome},
    db::retried,
    journal::TurnLog,
};

/// The first pause before writing the end of a turn is tried again; each one is twice as long as the one before.
const FIRST_END_PAUSE: Duration = Duration::from_millis(250);

/// The longest such pause.
const LONGEST_END_PAUSE: Duration = Duration::from_secs(2);

/// A turn that is stored and about to run.
pub(super) struct Turn {
    pub(super) service: Arc<Inner>,
    pub(super) user: UserId,
    pub(super) conversation_id: i64,
    pub(super) rows: TurnRows,
    pub(super) log: Arc<TurnLog>,
    pub(super) cancel: CancellationToken,
}

/// How a turn ended, as it is stored and told.
struct End {
    status: MessageStatus,
    word: &'static str,
    error: Option<(String, &'static str)>,
    stop_reason: Option<String>,
    usage: Usage,
}

impl Turn {
    /// Runs the turn and writes down how it ended.
    pub(super) async fn run(self) {
        let message_id = self.rows.assistant_message_id;
        let writer = TurnWriter::new(self.service.db.clone(), Arc::clone(&self.log), self.rows);
        let stop_storing = CancellationToken::new();
        let work = async {
            let answer = AssertUnwindSafe(self.answer(&writer)).catch_unwind();
            let result = tokio::select! {
                result = answer => result.ok(),
                () = self.keep_lease() => Some(Err(lost())),
            };
            stop_storing.cancel();
            result
        };
        let (result, ()) = tokio::join!(work, writer.store_text(&stop_storing));
        let mut complete = false;
        if result.as_ref().is_some_and(|result| result.as_ref().is_err_and(is_lost)) {
            tracing::warn!(message_id, "a turn was ended by somebody else");
        } else {
            let end = self.describe(result);
            complete = end.status == MessageStatus::Complete;
            self.write_end(&writer, &end).await;
        }
        self.service.forget_turn(self.rows, &self.log);
        self.service.changes.announce(self.user);
        if complete {
            self.service.name_soon(self.user, self.conversation_id, self.rows);
        }
    }

    async fn answer(&self, writer: &TurnWriter) -> Result<TurnOutcome, AgentError> {
        let input = self.input().await.map_err(RecordError::new)?;
        let mut recorder = StoringRecorder { writer };
        self.service.agent.run(input, &mut recorder, &self.cancel).await
    }

    async fn input(&self) -> sqlx::Result<TurnInput> {
        let TurnRows { user_message_id, assistant_message_id, epoch } = self.rows;
        let service = &self.service;
        if epoch == FIRST_EPOCH {
            let history = service.history_of(self.conversation_id, user_message_id).await?;
            return Ok(TurnInput { history, resumed: None });
        }
        let mut history = service.history_of(self.conversation_id, assistant_message_id).await?;
        let resumed = service.resumed_turn(assistant_message_id, &mut history).await?;
        Ok(TurnInput { history, resumed: Some(resumed) })
    }

    /// Renews the lease for as long as the turn is this process's own; returns when it no longer is.
    async fn keep_lease(&self) {
        loop {
            tokio::time::sleep(self.service.lifetimes.lease / 4).await;
            let renewed = async {
                let until = turns::database_now(&self.service.db).await? + self.service.lifetimes.lease;
                turns::renew_lease(&self.service.db, self.rows.assistant_message_id, self.rows.epoch, until).await
            };
            match renewed.await {
                Ok(true) => {}
                Ok(false) => return,
                // Perhaps the database comes back before the lease runs out.
                Err(error) => tracing::warn!(%error, "a turn's lease could not be renewed"),
            }
        }
    }

    /// `None` stands for a panic.
    fn describe(&self, result: Option<Result<TurnOutcome, AgentError>>) -> End {
        let ended = |status, word| End { status, word, error: None, stop_reason: None, usage: Usage::default() };
        let error = match result {
            Some(Ok(outcome)) => {
                let end = ended(MessageStatus::Complete, "complete");
                return End { stop_reason: Some(outcome.stop_reason), usage: outcome.usage, ..end };
            }
            Some(Err(AgentError::Cancelled)) if self.service.is_shut_down() => {
                let error = "The server was restarted while it answered.".to_owned();
                let end = ended(MessageStatus::Interrupted, "interrupted");
                return End { error: Some((error, "shutdown")), ..end };
            }
            Some(Err(AgentError::Cancelled)) => return ended(MessageStatus::Stopped, "stopped"),
            Some(Err(error)) => error,
            None => {
                let error = "The server failed unexpectedly. Try again; its log says more.".to_owned();
                return End { error: Some((error, "internal")), ..ended(MessageStatus::Failed, "failed") };
            }
        };
        let detail = std::error::Error::source(&error).map(ToString::to_string);
        tracing::warn!(message_id = self.rows.assistant_message_id, code = error.code(), %error, detail, "a turn failed");
        let (status, word) = match error {
            AgentError::Record(_) => (MessageStatus::Interrupted, "interrupted"),
            _ => (MessageStatus::Failed, "failed"),
        };
        End { error: Some((error.to_string(), error.code())), ..ended(status, word) }
    }

    /// Stores and tells how the turn ended, as soon as the database takes it. Gives up only when the server stops or
    /// somebody else has ended the turn.
    async fn write_end(&self, writer: &TurnWriter, end: &End) {
        if matches!(end.error, Some((_, "storage_unavailable"))) {
            self.send_readers_away();
        }
        let mut pause = FIRST_END_PAUSE;
        loop {
            match retried(|| self.try_write_end(writer, end)).await {
                Ok(()) | Err(sqlx::Error::RowNotFound) => return,
                Err(error) => tracing::warn!(%error, "the end of a turn could not be stored yet"),
            }
            self.send_readers_away();
            if self.service.shut_down.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return;
            }
            pause = LONGEST_END_PAUSE.min(pause * 2);
        }
    }

    /// Tells the readers at once that what happens cannot be stored. It is the last they hear here: they come back for
    /// the end, which is told once it is stored.
    fn send_readers_away(&self) {
        if self.log.has_ended() {
            return;
        }
        let error = AgentError::from(RecordError::new(sqlx::Error::PoolTimedOut));
        let event = ChatEvent::Error(TurnError {
            error: error.to_string(),
            code: error.code().to_owned(),
            user_message_id: None,
            assistant_message_id: None,
        });
        if let Err(error) = self.log.append_unnumbered(&event) {
            tracing::error!(%error, "an event could not be sent");
        }
        self.service.journal.close(&self.log);
    }

    /// Stores the end in one transaction, then sends the terminal event.
    async fn try_write_end(&self, writer: &TurnWriter, end: &End) -> sqlx::Result<()> {
        let TurnRows { assistant_message_id: message_id, epoch, .. } = self.rows;
        let event = self.terminal_event(end).await?;
        let (content, _) = self.log.content_and_calls();
        let mut write = writer.begin().await?;
        let stored_end = TurnEnd {
            content: &content,
            status: end.word,
            error: end.error.as_ref().map(|(error, _)| error.as_str()),
            error_code: end.error.as_ref().map(|(_, code)| *code),
            stop_reason: end.stop_reason.as_deref(),
        };
        if !turns::end_turn(&mut write.tx, message_id, epoch, stored_end).await? {
            tracing::warn!(message_id, "a turn had been ended by somebody else");
            return Ok(());
        }
        calls::end_open_tool_calls(&mut write.tx, message_id, "interrupted", CUT_OFF).await?;
        writer.create_next_event(&mut write.tx, &event).await?;
        write.commit().await?;
        if let Err(error) = self.log.append(&event) {
            tracing::error!(%error, "an event could not be sent");
        }
        Ok(())
    }

    async fn terminal_event(&self, end: &End) -> sqlx::Result<ChatEvent> {
        if let (MessageStatus::Failed, Some((error, code))) = (end.status, &end.error) {
            return Ok(ChatEvent::Error(TurnError {
                error: error.clone(),
                code: (*code).to_owned(),
                user_message_id: Some(self.rows.user_message_id),
                assistant_message_id: Some(self.rows.assistant_message_id),
            }));
        }
        let message_id = self.rows.assistant_message_id;
        let (content, mut tool_calls) = self.log.content_and_calls();
        let mut usage = end.usage;
        if end.status != MessageStatus::Complete {
            // Of a turn that broke off, the rows may know of calls and steps of which nobody was told.
            tool_calls = self.service.tool_calls_of(message_id).await?;
            interrupt_open(&mut tool_calls, CUT_OFF);
            usage = self.service.usage_of(message_id).await?;
        }
        Ok(ChatEvent::MessageEnd(MessageEnd {
            assistant_message_id: message_id,
            content,
            tool_calls,
            status: end.status,
            error: end.error.as_ref().map(|(error, _)| error.clone()),
            error_code: end.error.as_ref().map(|(_, code)| (*code).to_owned()),
            stop_reason: end.stop_reason.clone(),
            usage,
        }))
    }
}

/// The turn is no longer this process's own.
fn lost() -> AgentError {
    RecordError::new(sqlx::Error::RowNotFound).into()
}

fn is_lost(error: &AgentError) -> bool {
    let AgentError::Record(error) = error else { return false };
    matches!(error.source.downcast_ref(), Some(sqlx::Error::RowNotFound))
}
