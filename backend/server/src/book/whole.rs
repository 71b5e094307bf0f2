//! One call with the turn around it, and a conversation to read. Of either somebody else's is opened with a reason.

use chrono::{DateTime, Utc};
use tallybook_protocol::{MessageId, ToolCallId};
use uuid::Uuid;

use super::{
    Book, BookError,
    limits::{MAX_CALLS_OF_TURN, MAX_SHOWN_CHARS, MESSAGES_ON_PAGE},
    no_rerun::NoRerun,
    rerun::Reruns,
    store::{
        looks::Action,
        plans::{self, PlanStepRow},
        reruns::RerunId,
        whole::{
            self, CallOfTurnRow, DecisionRow, ModelCallOfTurnRow, ThoughtRow, VoteRow, WholeCallRow,
            WholeConversationRow, WholeMessageRow,
        },
    },
};
use crate::accounts::Caller;

/// That something was deleted by its owner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deletion {
    pub(crate) at: DateTime<Utc>,
    /// When it goes from the book, too.
    pub(crate) purged_at: DateTime<Utc>,
}

/// A call, and what happened around it.
#[derive(Clone, Debug)]
pub(crate) struct WholeCall {
    pub(crate) row: WholeCallRow,
    pub(crate) votes: Vec<VoteRow>,
    pub(crate) decisions: Vec<DecisionRow>,
    /// The model calls of its turn, and the tool calls, this one among them.
    pub(crate) model_calls: Vec<ModelCallOfTurnRow>,
    pub(crate) tool_calls: Vec<CallOfTurnRow>,
    pub(crate) deletion: Option<Deletion>,
    pub(crate) reruns: Reruns,
    /// Why it cannot be run again; none where it can.
    pub(crate) no_rerun: Option<NoRerun>,
}

/// Some messages of a conversation, of all its branches.
#[derive(Clone, Debug)]
pub(crate) struct ConversationPage {
    pub(crate) row: WholeConversationRow,
    pub(crate) messages: Vec<WholeMessageRow>,
    /// The calls of those messages.
    pub(crate) calls: Vec<CallOfTurnRow>,
    /// What models were asked for them.
    pub(crate) model_calls: Vec<ModelCallOfTurnRow>,
    /// What was thought for them.
    pub(crate) thoughts: Vec<ThoughtRow>,
    /// The steps of the plans by which they were made.
    pub(crate) plan_steps: Vec<PlanStepRow>,
    /// The message with which the next page begins.
    pub(crate) next: Option<MessageId>,
    pub(crate) deletion: Option<Deletion>,
}

impl Book {
    /// Whether a call is one of the reader's own that is not deleted.
    pub(crate) async fn is_own(&self, reader: &Caller, id: ToolCallId) -> Result<bool, BookError> {
        let found = whole::find_call(&self.context.db, id).await?;
        Ok(found.is_some_and(|call| call.user_id == reader.user && call.deleted_at.is_none()))
    }

    /// A call, whosever it is. With what it gave when it was run again: that time, or else the last one.
    pub(crate) async fn open_call(
        &self,
        reader: &Caller,
        id: ToolCallId,
        rerun: Option<RerunId>,
    ) -> Result<WholeCall, BookError> {
        let db = &self.context.db;
        let owner = whole::find_call(db, id).await?.ok_or(BookError::NoSuchCall)?.user_id;
        self.look(reader, owner, Action::CallOpened, &id.to_string()).await?;
        let row = whole::find_call_texts(db, id, MAX_SHOWN_CHARS).await?.ok_or(BookError::NoSuchCall)?;
        Ok(WholeCall {
            votes: whole::list_votes(db, id, MAX_CALLS_OF_TURN).await?,
            decisions: whole::list_decisions(db, id, MAX_CALLS_OF_TURN).await?,
            model_calls: whole::list_model_calls_of(db, &[row.message_id], MAX_CALLS_OF_TURN).await?,
            tool_calls: whole::list_calls(db, row.message_id, MAX_CALLS_OF_TURN).await?,
            deletion: self.deletion(row.deleted_at),
            reruns: self.find_reruns(id, rerun).await?,
            no_rerun: self.find_rerun_tools(&row).await?.err(),
            row,
        })
    }

    /// A conversation, whosever it is, from one of its messages on.
    pub(crate) async fn open_conversation(
        &self,
        reader: &Caller,
        uuid: Uuid,
        from: MessageId,
    ) -> Result<ConversationPage, BookError> {
        let db = &self.context.db;
        let found = whole::find_conversation(db, &uuid.to_string()).await?;
        let row = found.ok_or(BookError::NoSuchConversation)?;
        self.look(reader, row.user_id, Action::ConversationOpened, &row.uuid).await?;
        let limit = u32::try_from(MESSAGES_ON_PAGE + 1).unwrap_or(u32::MAX);
        let mut messages = whole::list_messages(db, row.id, from, MAX_SHOWN_CHARS, limit).await?;
        let next = messages.get(MESSAGES_ON_PAGE).map(|message| message.id);
        messages.truncate(MESSAGES_ON_PAGE);
        let ids: Vec<MessageId> = messages.iter().map(|message| message.id).collect();
        let calls = whole::list_calls_of(db, &ids, MAX_CALLS_OF_TURN).await?;
        let thoughts = whole::list_thoughts_of(db, &ids, MAX_SHOWN_CHARS, MAX_CALLS_OF_TURN).await?;
        let model_calls = whole::list_model_calls_of(db, &ids, MAX_CALLS_OF_TURN).await?;
        let plan_steps = plans::list_steps_of(db, &ids, MAX_CALLS_OF_TURN).await?;
        let deletion = self.deletion(row.deleted_at);
        Ok(ConversationPage { row, messages, calls, model_calls, thoughts, plan_steps, next, deletion })
    }

    fn deletion(&self, at: Option<DateTime<Utc>>) -> Option<Deletion> {
        at.map(|at| Deletion { at, purged_at: at + self.context.kept_for })
    }
}
