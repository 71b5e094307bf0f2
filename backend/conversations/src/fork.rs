//! Copies messages to a new conversation of a user: a branch of the user's own conversation (fork), or the messages
//! that a share link shows. The copies outlast the originals. Their calls did not run again, so statistics, budgets and
//! usage do not include them.

use std::collections::{BTreeSet, HashMap};

use tallybook_accounts::UserId;
use tallybook_database::{Transaction, with_retries};
use tallybook_files::{FileRow, FilesError};
use tallybook_llm::{AssistantBlock, ToolCallRequest};
use tallybook_protocol::{
    ConversationSummary, FileKind, Message, MessageFile, MessageId, MessagePart, MessageStatus, Role, ToolCall,
};
use uuid::Uuid;

use crate::{
    ServiceError,
    branch::tree::branch,
    limits::{MAX_COPIED_BYTES, MAX_COPIED_MESSAGES},
    service::ConversationService,
    share::shared_messages,
    store::{
        ConversationId,
        copies::{self, SharedCall},
        message_files, messages, shares,
    },
};

/// The files that a share link shows, as the reader's own files, by the IDs of the originals.
type OwnFiles = HashMap<Uuid, FileRow>;

impl ConversationService {
    /// Creates a conversation with a copy of the branch that ends in a complete answer. Fails with `TurnRunning` or
    /// `AwaitingApproval` if the answer's turn runs or waits, and with `TooLargeToCopy` if the branch is too large.
    pub async fn fork_conversation(
        &self,
        user: UserId,
        uuid: Uuid,
        message_id: MessageId,
    ) -> Result<ConversationSummary, ServiceError> {
        let db = &self.context.db;
        let row = self.context.find_conversation(user, uuid).await?;
        let message = messages::find_message(db, row.id, message_id).await?.ok_or(ServiceError::NoSuchMessage)?;
        match message.status {
            MessageStatus::Complete if !message.is_user() => {}
            MessageStatus::Streaming => return Err(ServiceError::TurnRunning),
            MessageStatus::AwaitingApproval => return Err(ServiceError::AwaitingApproval),
            _ => {
                let advice = "message_id names no complete answer. A new chat can continue only a complete answer.";
                return Err(ServiceError::Invalid(advice.to_owned()));
            }
        }
        let nodes = messages::list_tree_nodes(db, row.id).await?;
        let branch: Vec<MessageId> = branch(&nodes, Some(message_id)).iter().map(|node| node.id).collect();
        if branch.len() > MAX_COPIED_MESSAGES || copies::sum_bytes(db, &branch).await? > MAX_COPIED_BYTES {
            return Err(ServiceError::TooLargeToCopy);
        }
        let fork = Uuid::now_v7();
        with_retries(|| Box::pin(self.store_fork(user, row.id, fork, &branch))).await?;
        self.context.feeds.announce(user);
        Ok(self.context.find_conversation(user, fork).await?.summary())
    }

    async fn store_fork(
        &self,
        user: UserId,
        original: ConversationId,
        fork: Uuid,
        branch: &[MessageId],
    ) -> Result<(), ServiceError> {
        let mut tx = self.context.db.begin_copy().await?;
        let created = copies::create_conversation_like(&mut tx, user, fork, original).await?;
        let id = created.ok_or(ServiceError::NotFound)?;
        let head = copies::copy_branch(&mut tx, id, branch).await?.ok_or(ServiceError::NotFound)?;
        copies::set_head(&mut tx, id, head).await?;
        Ok(tx.commit().await?)
    }

    /// Creates a conversation with a copy of the messages that a share link shows. Its files become files of the user.
    /// Fails with `NoSuchShare` if the link does not exist or was revoked, and with `Files` if the user has no room for
    /// the files.
    pub async fn copy_shared_conversation(
        &self,
        user: UserId,
        token: Uuid,
    ) -> Result<ConversationSummary, ServiceError> {
        let row = shares::find(&self.context.db, token).await?.ok_or(ServiceError::NoSuchShare)?;
        let shared = finished(shared_messages(&row)?);
        if shared.is_empty() {
            return Err(ServiceError::Invalid("There is no answer here to continue from.".to_owned()));
        }
        if shared.len() > MAX_COPIED_MESSAGES {
            return Err(ServiceError::TooLargeToCopy);
        }
        let mut files = OwnFiles::new();
        let shown: BTreeSet<_> = shared.iter().flat_map(files_of).map(|file| file.id).collect();
        for id in shown {
            files.insert(id, self.context.files.copy(row.user_id, id, user).await.map_err(file_error)?);
        }
        let copy = Uuid::now_v7();
        with_retries(|| Box::pin(self.store_shared(user, copy, &row.title, &shared, &files))).await?;
        self.context.feeds.announce(user);
        Ok(self.context.find_conversation(user, copy).await?.summary())
    }

    async fn store_shared(
        &self,
        user: UserId,
        copy: Uuid,
        title: &str,
        shared: &[Message],
        files: &OwnFiles,
    ) -> Result<(), ServiceError> {
        let mut tx = self.context.db.begin().await?;
        let id = copies::create_conversation(&mut tx, user, copy, title).await?;
        let mut parent = None;
        for message in shared {
            parent = Some(store_message(&mut tx, id, parent, message, files).await?);
        }
        if let Some(head) = parent {
            copies::set_head(&mut tx, id, head).await?;
        }
        Ok(tx.commit().await?)
    }
}

fn file_error(error: FilesError) -> ServiceError {
    match error {
        FilesError::Storage(error) => ServiceError::Storage(error),
        other => ServiceError::Files(other),
    }
}

/// Returns all files that a message shows.
fn files_of(message: &Message) -> impl Iterator<Item = &MessageFile> {
    message.files.iter().chain(message.tool_calls.iter().flat_map(|call| &call.files))
}

/// Returns the messages up to the last answer that has something to continue from. If that answer ended early, its copy
/// is complete: the rest of its turn is not there to be resumed.
fn finished(mut messages: Vec<Message>) -> Vec<Message> {
    let is_usable = |message: &Message| {
        message.role == Role::Assistant
            && (message.status == MessageStatus::Complete
                || !message.content.is_empty()
                || !message.tool_calls.is_empty())
    };
    messages.truncate(messages.iter().rposition(is_usable).map_or(0, |last| last + 1));
    if let Some(last) = messages.last_mut() {
        (last.status, last.error, last.error_code) = (MessageStatus::Complete, None, None);
    }
    messages
}

async fn store_message(
    tx: &mut Transaction,
    conversation: ConversationId,
    parent: Option<MessageId>,
    message: &Message,
    files: &OwnFiles,
) -> Result<MessageId, ServiceError> {
    let attached: Vec<FileRow> = message.files.iter().filter_map(|file| files.get(&file.id)).cloned().collect();
    let parts = (!attached.is_empty()).then(|| serde_json::to_string(&parts_of(message, &attached))).transpose()?;
    let id = copies::create_message(tx, conversation, parent, message, parts.as_deref()).await?;
    message_files::create(tx, id, &attached).await?;
    for reasoning in &message.reasoning {
        copies::create_reasoning(tx, id, reasoning).await?;
    }
    if let Some(plan) = &message.plan {
        copies::create_plan(tx, id, plan, message.created_at).await?;
    }
    let mut call_files = Vec::new();
    for step in steps_of(message, id) {
        let blocks = serde_json::to_string(&step.blocks)?;
        copies::create_step(tx, id, message, step.number, &blocks).await?;
        for ((call, provider_call_id), position) in step.calls.iter().zip(0..) {
            let shared = SharedCall { call, provider_call_id, step: step.number, position };
            let row = copies::create_tool_call(tx, id, shared).await?;
            call_files.extend(call.files.iter().filter_map(|file| Some((row, files.get(&file.id)?.clone()))));
        }
    }
    copies::create_call_files(tx, id, &call_files).await?;
    Ok(id)
}

/// Returns the parts of a user's message with files.
fn parts_of(message: &Message, attached: &[FileRow]) -> Vec<MessagePart> {
    let text = Some(&message.content).filter(|text| !text.is_empty());
    let text = text.map(|text| MessagePart::Text { text: text.clone() });
    let files = attached.iter().map(|file| match file.kind {
        FileKind::Image => MessagePart::Image { file_id: file.uuid },
        _ => MessagePart::File { file_id: file.uuid },
    });
    text.into_iter().chain(files).collect()
}

/// A step of a shared answer: the text before its calls, and the calls.
struct SharedStep<'a> {
    number: i32,
    blocks: Vec<AssistantBlock>,
    /// The calls, each with its ID for models.
    calls: Vec<(&'a ToolCall, String)>,
}

/// Divides an answer into steps. A share link does not show the steps, but calls of one step are at the same position
/// in the text. The text after the last call is in no step.
fn steps_of(message: &Message, id: MessageId) -> Vec<SharedStep<'_>> {
    let mut begin = 0;
    let mut steps = Vec::new();
    for (number, calls) in (0..).zip(message.tool_calls.chunk_by(|one, next| one.offset == next.offset)) {
        let end = calls.first().and_then(|call| usize::try_from(call.offset).ok()).unwrap_or(begin);
        let text = message.content.get(begin..end).unwrap_or_default().trim_matches('\n');
        begin = begin.max(end);
        let calls: Vec<(&ToolCall, String)> =
            calls.iter().zip(0..).map(|(call, position)| (call, format!("copy_{id}_{number}_{position}"))).collect();
        let text = (!text.is_empty()).then(|| AssistantBlock::Text { text: text.to_owned() });
        let requests = calls.iter().map(|(call, call_id)| {
            AssistantBlock::ToolCall(ToolCallRequest {
                id: call_id.clone(),
                name: call.tool_name.clone(),
                input_text: call.proposed_input.as_ref().unwrap_or(&call.input).as_str().to_owned(),
                written_by: None,
            })
        });
        steps.push(SharedStep { number, blocks: text.into_iter().chain(requests).collect(), calls });
    }
    steps
}

#[cfg(test)]
mod tests {
    use tallybook_protocol::{Message, MessageId, MessageStatus};

    use crate::fork::{AssistantBlock, finished, steps_of};

    fn message(id: i64, role: &str, status: &str, content: &str, offsets: &[i64]) -> Message {
        let call = |(id, offset): (usize, &i64)| {
            serde_json::json!({"tool_call_id": id, "tool_name": "add", "input": {"a": id}, "offset": offset,
                "status": "success", "output": "3", "error": null, "duration_ms": 1,
                "started_at": "2026-01-01T00:00:00Z"})
        };
        let calls: Vec<serde_json::Value> = offsets.iter().enumerate().map(call).collect();
        let message = serde_json::json!({"id": id, "role": role, "status": status, "content": content, "error": null,
            "tool_calls": calls, "created_at": "2026-01-01T00:00:00Z"});
        // From text, because exact JSON cannot be read from a value.
        serde_json::from_str(&message.to_string()).unwrap()
    }

    fn shown(blocks: &[AssistantBlock]) -> Vec<String> {
        let one = |block: &AssistantBlock| match block {
            AssistantBlock::Text { text } => text.clone(),
            AssistantBlock::ToolCall(call) => format!("{} {}", call.id, call.input_text),
            AssistantBlock::Opaque { .. } => "opaque".to_owned(),
        };
        blocks.iter().map(one).collect()
    }

    #[test]
    fn calls_at_the_same_position_are_one_step() {
        let answer = message(4, "assistant", "complete", "First.\n\nSecond.\n\nDone.", &[6, 6, 15]);
        let steps: Vec<Vec<String>> = steps_of(&answer, MessageId(9)).iter().map(|step| shown(&step.blocks)).collect();
        let first = ["First.", r#"copy_9_0_0 {"a":0}"#, r#"copy_9_0_1 {"a":1}"#];
        assert_eq!(steps, [&first[..], &["Second.", r#"copy_9_1_0 {"a":2}"#]]);
    }

    #[test]
    fn positions_that_do_not_fit_the_text_lose_no_call() {
        let answer = message(4, "assistant", "complete", "計", &[1, 90, -1]);
        let steps = steps_of(&answer, MessageId(9));
        assert_eq!(steps.iter().map(|step| step.calls.len()).collect::<Vec<_>>(), [1, 1, 1]);
        assert!(steps.iter().all(|step| step.blocks.len() == 1));
    }

    #[test]
    fn a_copy_ends_with_a_complete_answer() {
        let question = |id| message(id, "user", "complete", "?", &[]);
        let all = vec![question(1), message(2, "assistant", "stopped", "Half", &[]), question(3)];
        let failed = message(4, "assistant", "failed", "", &[]);
        let copied = finished(all.into_iter().chain([failed.clone()]).collect());
        assert_eq!(copied.iter().map(|message| message.id.0).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(copied[1].status, MessageStatus::Complete);
        assert!(finished(vec![question(1), failed]).is_empty());
    }
}
