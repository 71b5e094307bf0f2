//! Shares a conversation with a link: a copy of the conversation as it was, which anyone with the link can read.

use tallybook_accounts::{AuditAction, UserId, lock_user, note_audit};
use tallybook_database::{now, with_retries};
use tallybook_files::{Content, FilesError, Variant};
use tallybook_protocol::{AnswerMode, Message, MessageFile, NewShare, Share, ShareId, SharedConversation, Window};
use uuid::Uuid;

use crate::{
    ServiceError,
    limits::{MAX_SHARED_BYTES, MAX_SHARES},
    service::ConversationService,
    store::shares::{self, NewShareRow, SharedRow},
};

impl ConversationService {
    /// Copies the branch that is shown, and creates a link to the copy. Fails with `TurnRunning` while an answer is
    /// being written, and with `AwaitingApproval` while a turn waits: only finished answers are shared.
    pub async fn share_conversation(&self, user: UserId, uuid: Uuid, new: NewShare) -> Result<Share, ServiceError> {
        let id = self.context.find_conversation(user, uuid).await?.id;
        let found = self.find_conversation(user, uuid, Window::default()).await?.ok_or(ServiceError::NotFound)?;
        if found.summary.awaiting_approval {
            return Err(ServiceError::AwaitingApproval);
        }
        if found.active_message_id.is_some() {
            return Err(ServiceError::TurnRunning);
        }
        if found.messages.is_empty() {
            return Err(ServiceError::Invalid("There is nothing in this conversation to share yet.".to_owned()));
        }
        let shared: Vec<Message> = found.messages.into_iter().map(|message| shared(message, &new)).collect();
        let messages = serde_json::to_string(&shared)?;
        if found.earlier.is_some() || messages.len() > MAX_SHARED_BYTES {
            return Err(ServiceError::TooLargeToShare);
        }
        let (token, created_at, title) = (Uuid::new_v4(), now(), found.summary.title);
        let row = NewShareRow {
            conversation_id: id,
            token,
            title: &title,
            has_tool_calls: new.tool_calls,
            has_files: new.files,
            messages: &messages,
            created_at,
        };
        let id = with_retries(|| Box::pin(self.store_share(user, uuid, row))).await?;
        tracing::warn!(user = user.0, conversation = %uuid, "a public link to a conversation was created");
        let path = path(token);
        let NewShare { tool_calls, files } = new;
        Ok(Share { id, path, conversation_uuid: uuid, title, tool_calls, files, created_at })
    }

    async fn store_share(&self, user: UserId, uuid: Uuid, row: NewShareRow<'_>) -> Result<ShareId, ServiceError> {
        let mut tx = self.context.db.begin().await?;
        // Comes first, so that each of several concurrent requests counts the shares of the earlier ones.
        lock_user(&mut tx, user).await?;
        if shares::count(&mut tx, user).await? >= MAX_SHARES {
            return Err(ServiceError::TooManyShares);
        }
        let id = shares::create(&mut tx, row).await?;
        note_audit(&mut tx, Some(user), user, AuditAction::ConversationShared, &uuid.to_string()).await?;
        tx.commit().await?;
        Ok(id)
    }

    /// Lists a user's share links, newest first.
    pub async fn list_shares(&self, user: UserId) -> Result<Vec<Share>, ServiceError> {
        let rows = shares::list(&self.context.db, user).await?;
        let share = |row: shares::ShareRow| Share {
            id: row.id,
            path: path(row.token),
            conversation_uuid: row.uuid,
            title: row.title,
            tool_calls: row.has_tool_calls,
            files: row.has_files,
            created_at: row.created_at,
        };
        Ok(rows.into_iter().map(share).collect())
    }

    /// Returns the copy that a link shows; `None` if the link does not exist or was revoked.
    pub async fn find_shared(&self, token: Uuid) -> Result<Option<SharedConversation>, ServiceError> {
        let Some(row) = shares::find(&self.context.db, token).await? else { return Ok(None) };
        let messages = shared_messages(&row)?;
        Ok(Some(SharedConversation { path: path(token), title: row.title, messages, shared_at: row.created_at }))
    }

    /// Returns the content of a file that a link shows; `None` if it shows no such file.
    pub async fn find_shared_file(
        &self,
        token: Uuid,
        id: Uuid,
        variant: Variant,
    ) -> Result<Option<Content>, FilesError> {
        let Some(row) = shares::find(&self.context.db, token).await? else { return Ok(None) };
        let messages: Vec<Message> = serde_json::from_str(&row.messages).unwrap_or_default();
        let calls = |message: &Message| message.tool_calls.iter().any(|call| has(&call.files, id));
        if !messages.iter().any(|message| has(&message.files, id) || calls(message)) {
            return Ok(None);
        }
        self.context.files.content(row.user_id, id, variant).await.map(Some)
    }

    /// Revokes a link, and records that in the audit log. From now on the link shows nothing.
    pub async fn revoke_share(&self, user: UserId, id: ShareId) -> Result<(), ServiceError> {
        with_retries(|| self.delete_share(user, id)).await
    }

    async fn delete_share(&self, user: UserId, id: ShareId) -> Result<(), ServiceError> {
        let mut tx = self.context.db.begin().await?;
        let conversation = shares::delete(&mut tx, user, id).await?.ok_or(ServiceError::NoSuchShare)?;
        note_audit(&mut tx, Some(user), user, AuditAction::ShareRevoked, &conversation).await?;
        Ok(tx.commit().await?)
    }
}

/// Returns the messages that a link shows.
pub(crate) fn shared_messages(row: &SharedRow) -> serde_json::Result<Vec<Message>> {
    let mut messages: Vec<Message> = serde_json::from_str(&row.messages)?;
    if !row.has_tool_calls {
        // Plans are shared only together with the calls. In plan mode, the missing plan would look like a failed one.
        for message in &mut messages {
            message.mode = AnswerMode::React;
        }
    }
    Ok(messages)
}

fn path(token: Uuid) -> String {
    format!("/s/{token}")
}

fn has(files: &[MessageFile], id: Uuid) -> bool {
    files.iter().any(|file| file.id == id)
}

/// Returns the shared form of a message: its text and, if `new` says so, its files, and its tool calls, reasoning and
/// plan. Usage, feedback, context information, other versions, reviews and decisions are left out.
fn shared(message: Message, new: &NewShare) -> Message {
    let has_tool_calls = new.tool_calls;
    let mut tool_calls = if has_tool_calls { message.tool_calls } else { Vec::new() };
    for call in &mut tool_calls {
        call.reviews.clear();
        call.decision = None;
        if !new.files {
            call.files.clear();
        }
    }
    // Reasoning and the plan are shared together with the tool calls.
    let (reasoning, plan) = if has_tool_calls { (message.reasoning, message.plan) } else { (Vec::new(), None) };
    let mut files = if new.files { message.files } else { Vec::new() };
    for file in &mut files {
        file.context = None;
    }
    Message {
        tool_calls,
        reasoning,
        plan,
        files,
        siblings: Vec::new(),
        usage: None,
        context: None,
        feedback: None,
        ..message
    }
}
