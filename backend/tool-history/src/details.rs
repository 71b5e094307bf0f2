//! Opens a call with the turn around it, or a conversation. Another user's data needs a reason.

use chrono::{DateTime, Utc};
use tallybook_accounts::Caller;
use tallybook_protocol::{MessageId, ToolCallId};
use uuid::Uuid;

use super::{
    ToolHistory, ToolHistoryError,
    limits::{MAX_CALLS_OF_TURN, MAX_FILES_SHOWN, MAX_SHOWN_CHARS, MESSAGES_ON_PAGE},
    no_rerun::NoRerun,
    rerun::Reruns,
    store::{
        access_log::Action,
        details::{
            self, CallDetailsRow, CallOfTurnRow, CopiedCallRow, DecisionRow, FileRow, ModelCallOfTurnRow, ReasoningRow,
            VoteRow, WholeConversationRow, WholeMessageRow,
        },
        plans::{self, PlanStepRow},
        reruns::RerunId,
    },
};

/// A deletion by the owner.
#[derive(Clone, Copy, Debug)]
pub struct Deletion {
    /// Time of the deletion.
    pub at: DateTime<Utc>,
    /// When the data is purged from the tool history as well.
    pub purged_at: DateTime<Utc>,
}

/// A call with its turn.
#[derive(Clone, Debug)]
pub struct CallDetails {
    /// The call.
    pub row: CallDetailsRow,
    /// The files that it returned.
    pub files: Vec<FileRow>,
    /// Verdicts of reviewing models.
    pub votes: Vec<VoteRow>,
    /// Decisions on its approval.
    pub decisions: Vec<DecisionRow>,
    /// The model calls of its turn.
    pub model_calls: Vec<ModelCallOfTurnRow>,
    /// All tool calls of its turn, including this one.
    pub tool_calls: Vec<CallOfTurnRow>,
    /// Deletion by the owner, if any.
    pub deletion: Option<Deletion>,
    /// Its re-runs.
    pub reruns: Reruns,
    /// Why the call cannot be re-run; `None` if it can.
    pub no_rerun: Option<NoRerun>,
}

/// A page of messages of a conversation, from all its branches.
#[derive(Clone, Debug)]
pub struct ConversationPage {
    /// The conversation.
    pub row: WholeConversationRow,
    /// The messages.
    pub messages: Vec<WholeMessageRow>,
    /// The files of the messages.
    pub files: Vec<FileRow>,
    /// The tool calls of the messages.
    pub calls: Vec<CallOfTurnRow>,
    /// The copied calls of the messages, which ran in other conversations.
    pub copied_calls: Vec<CopiedCallRow>,
    /// The model calls for the messages.
    pub model_calls: Vec<ModelCallOfTurnRow>,
    /// The reasoning for the messages.
    pub reasoning: Vec<ReasoningRow>,
    /// The plan steps of the messages.
    pub plan_steps: Vec<PlanStepRow>,
    /// First message of the next page.
    pub next: Option<MessageId>,
    /// Deletion by the owner, if any.
    pub deletion: Option<Deletion>,
}

impl ToolHistory {
    /// Returns `true` if the call belongs to the caller and is not deleted.
    pub async fn is_own(&self, caller: &Caller, id: ToolCallId) -> Result<bool, ToolHistoryError> {
        let found = details::find_call(&self.context.db, id).await?;
        Ok(found.is_some_and(|call| call.user_id == caller.user && call.deleted_at.is_none()))
    }

    /// Opens a call of any user. The result contains the texts of one re-run: `rerun`, or the newest if it is `None`.
    pub async fn open_call(
        &self,
        caller: &Caller,
        id: ToolCallId,
        rerun: Option<RerunId>,
    ) -> Result<CallDetails, ToolHistoryError> {
        let db = &self.context.db;
        let owner = details::find_call(db, id).await?.ok_or(ToolHistoryError::NoSuchCall)?.user_id;
        self.record_access(caller, owner, Action::CallOpened, &id.to_string()).await?;
        let row = details::find_call_texts(db, id, MAX_SHOWN_CHARS).await?.ok_or(ToolHistoryError::NoSuchCall)?;
        Ok(CallDetails {
            files: details::list_files_of_call(db, id, MAX_FILES_SHOWN).await?,
            votes: details::list_votes(db, id, MAX_CALLS_OF_TURN).await?,
            decisions: details::list_decisions(db, id, MAX_CALLS_OF_TURN).await?,
            model_calls: details::list_model_calls_of(db, &[row.message_id], MAX_CALLS_OF_TURN).await?,
            tool_calls: details::list_calls(db, row.message_id, MAX_CALLS_OF_TURN).await?,
            deletion: self.deletion(row.deleted_at),
            reruns: self.find_reruns(id, rerun).await?,
            no_rerun: self.find_rerun_tools(&row).await?.err(),
            row,
        })
    }

    /// Opens a conversation of any user, from a message on.
    pub async fn open_conversation(
        &self,
        caller: &Caller,
        uuid: Uuid,
        from: MessageId,
    ) -> Result<ConversationPage, ToolHistoryError> {
        let db = &self.context.db;
        let found = details::find_conversation(db, &uuid.to_string()).await?;
        let row = found.ok_or(ToolHistoryError::NoSuchConversation)?;
        self.record_access(caller, row.user_id, Action::ConversationOpened, &row.uuid).await?;
        let limit = u32::try_from(MESSAGES_ON_PAGE + 1).unwrap_or(u32::MAX);
        let mut messages = details::list_messages(db, row.id, from, MAX_SHOWN_CHARS, limit).await?;
        let next = messages.get(MESSAGES_ON_PAGE).map(|message| message.id);
        messages.truncate(MESSAGES_ON_PAGE);
        let ids: Vec<MessageId> = messages.iter().map(|message| message.id).collect();
        let files = details::list_files_of(db, &ids, MAX_FILES_SHOWN).await?;
        let calls = details::list_calls_of(db, &ids, MAX_CALLS_OF_TURN).await?;
        let copied_calls = details::list_copied_calls_of(db, &ids, MAX_CALLS_OF_TURN).await?;
        let reasoning = details::list_reasoning_of(db, &ids, MAX_SHOWN_CHARS, MAX_CALLS_OF_TURN).await?;
        let model_calls = details::list_model_calls_of(db, &ids, MAX_CALLS_OF_TURN).await?;
        let plan_steps = plans::list_steps_of(db, &ids, MAX_CALLS_OF_TURN).await?;
        let deletion = self.deletion(row.deleted_at);
        Ok(ConversationPage {
            row,
            messages,
            files,
            calls,
            copied_calls,
            model_calls,
            reasoning,
            plan_steps,
            next,
            deletion,
        })
    }

    fn deletion(&self, at: Option<DateTime<Utc>>) -> Option<Deletion> {
        at.map(|at| Deletion { at, purged_at: at + self.context.settings.get().deleted_retention })
    }
}
