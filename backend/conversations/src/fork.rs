//! Copies messages to a new conversation of a user: a branch of the user's own conversation (fork), or the messages
//! that a share link shows. The copies outlast the originals. Their calls did not run again, so statistics, budgets and
//! usage do not include them.

use std::collections::{BTreeSet, HashMap};

use tallybook_accounts::{UserId, lock_user};
use tallybook_database::{Transaction, with_retries};
use tallybook_files::{FileRow, FilesError};
use tallybook_llm::{AssistantBlock, ToolCallRequest};
use tallybook_protocol::{
    ConversationSummary, FileKind, Message, MessageFile, MessageId, MessagePart, MessageStatus, NewFork, Role, ToolCall,
};
use uuid::Uuid;

use crate::{
    ServiceError, admission,
    branch::tree::branch,
    input::check_client_id,
    limits::{MAX_COPIED_BYTES, MAX_COPIED_MESSAGES},
    service::ConversationService,
    share::shared_messages,
    store::{
        ConversationId,
        conversations::{self, ConversationOrigin, NewConversationRow},
        copies::{self, SharedCall, SharedStepRow},
        message_files, messages, plans, reasonings,
        shares::{self, SharedRow},
    },
};

/// The files that a share link shows, as the user's own files, by the IDs of the originals.
type OwnFiles = HashMap<Uuid, FileRow>;

/// A copy that a user requests.
#[derive(Clone, Copy)]
struct Request<'a> {
    user: UserId,
    /// The ID that the client chose for the copy.
    client_conversation_id: Option<&'a str>,
}

impl ConversationService {
    /// Creates a conversation with a copy of the branch that ends in a complete answer. If the user has a conversation
    /// with this `client_conversation_id`, returns that one instead. Fails with `TurnRunning` or `AwaitingApproval` if
    /// the answer's turn runs or waits, with `TooLargeToCopy` if the branch is too large, and with `LimitReached` if
    /// the user has sent too many messages within a minute.
    pub async fn fork_conversation(
        &self,
        user: UserId,
        uuid: Uuid,
        new: &NewFork,
    ) -> Result<ConversationSummary, ServiceError> {
        let db = &self.context.db;
        let NewFork { message_id, client_conversation_id } = new;
        let request = Request { user, client_conversation_id: client_conversation_id.as_deref() };
        request.check()?;
        let row = self.context.find_conversation(user, uuid).await?;
        let message = messages::find_message(db, row.id, *message_id).await?.ok_or(ServiceError::NoSuchMessage)?;
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
        let branch: Vec<MessageId> = branch(&nodes, Some(*message_id)).iter().map(|node| node.id).collect();
        if branch.len() > MAX_COPIED_MESSAGES || copies::sum_bytes(db, &branch).await? > MAX_COPIED_BYTES {
            return Err(ServiceError::TooLargeToCopy);
        }
        let fork = with_retries(|| Box::pin(self.store_fork(request, row.id, &branch))).await?;
        self.context.feeds.announce(user);
        Ok(self.context.find_conversation(user, fork).await?.summary())
    }

    async fn store_fork(
        &self,
        request: Request<'_>,
        original: ConversationId,
        branch: &[MessageId],
    ) -> Result<Uuid, ServiceError> {
        let mut tx = self.context.db.begin_copy().await?;
        if let Some(known) = self.admit(&mut tx, request).await? {
            return Ok(known);
        }
        let (fork, Request { user, client_conversation_id }) = (Uuid::now_v7(), request);
        let created = copies::create_conversation_like(&mut tx, user, fork, client_conversation_id, original).await?;
        let id = created.ok_or(ServiceError::NotFound)?;
        let head = copies::copy_branch(&mut tx, id, branch).await?.ok_or(ServiceError::NotFound)?;
        conversations::select_head_in(&mut tx, id, head).await?;
        tx.commit().await?;
        Ok(fork)
    }

    /// Creates a conversation with a copy of the messages that a share link shows. Its files become files of the user.
    /// If the user has a conversation with this `client_conversation_id`, returns that one instead. Fails with
    /// `NoSuchShare` if the link does not exist or was revoked, with `NothingToCopy` if it shows no answer, with
    /// `Files` if the user has no room for the files, and with `LimitReached` if the user has sent too many messages
    /// within a minute.
    pub async fn copy_shared_conversation(
        &self,
        user: UserId,
        token: Uuid,
        client_conversation_id: Option<&str>,
    ) -> Result<ConversationSummary, ServiceError> {
        let request = Request { user, client_conversation_id };
        request.check()?;
        let row = shares::find(&self.context.db, token).await?.ok_or(ServiceError::NoSuchShare)?;
        let shared = finished(shared_messages(&row)?);
        if shared.is_empty() {
            return Err(ServiceError::NothingToCopy);
        }
        if shared.len() > MAX_COPIED_MESSAGES {
            return Err(ServiceError::TooLargeToCopy);
        }
        let copy = with_retries(|| Box::pin(self.store_shared(request, &row, &shared))).await?;
        self.context.feeds.announce(user);
        Ok(self.context.find_conversation(user, copy).await?.summary())
    }

    async fn store_shared(
        &self,
        request: Request<'_>,
        row: &SharedRow,
        shared: &[Message],
    ) -> Result<Uuid, ServiceError> {
        let mut tx = self.context.db.begin().await?;
        if let Some(known) = self.admit(&mut tx, request).await? {
            return Ok(known);
        }
        let (uuid, Request { user, client_conversation_id }) = (Uuid::now_v7(), request);
        let shown: BTreeSet<Uuid> = shared.iter().flat_map(files_of).map(|file| file.id).collect();
        let shown: Vec<Uuid> = shown.into_iter().collect();
        let files = self.context.files.copy_all(&mut tx, row.user_id, &shown, user).await.map_err(file_error)?;
        let new = NewConversationRow {
            user,
            uuid,
            title: &row.title,
            model: None,
            disabled_tools: &BTreeSet::new(),
            origin: ConversationOrigin::Page,
            client_conversation_id,
        };
        let conversation = conversations::create_conversation_in(&mut tx, new).await?;
        let mut copies = Vec::new();
        let mut parent = None;
        // One by one, because each message needs the ID of its parent.
        for message in shared {
            let id = store_message(&mut tx, conversation, parent, message, &files).await?;
            copies.push((id, message));
            parent = Some(id);
        }
        store_parts(&mut tx, conversation, &copies, &files).await?;
        if let Some(head) = parent {
            conversations::select_head_in(&mut tx, conversation, head).await?;
        }
        tx.commit().await?;
        Ok(uuid)
    }

    /// Locks the user, and returns the conversation that an earlier request of the same copy created. If there is none,
    /// counts the copy as a message, or fails with `LimitReached`.
    async fn admit(&self, tx: &mut Transaction, request: Request<'_>) -> Result<Option<Uuid>, ServiceError> {
        let Request { user, client_conversation_id } = request;
        // Comes first, so that each of several concurrent requests sees what the earlier ones created.
        lock_user(tx, user).await?;
        if let Some(id) = client_conversation_id
            && let Some(known) = conversations::find_by_client_id(tx, user, id).await?
        {
            return Ok(Some(known));
        }
        admission::admit_copy(&self.context, tx, user).await?;
        Ok(None)
    }
}

impl Request<'_> {
    fn check(self) -> Result<(), ServiceError> {
        self.client_conversation_id.map_or(Ok(()), |id| check_client_id("client_conversation_id", id))
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

/// Stores a copy of a message with its files.
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
    Ok(id)
}

/// Stores the reasoning, the plans and the calls of copied messages. Each original is with the ID of its copy.
async fn store_parts(
    tx: &mut Transaction,
    conversation: ConversationId,
    copies: &[(MessageId, &Message)],
    files: &OwnFiles,
) -> Result<(), ServiceError> {
    let reasoning: Vec<_> =
        copies.iter().flat_map(|(id, message)| message.reasoning.iter().map(|reasoning| (*id, reasoning))).collect();
    reasonings::create(tx, &reasoning).await?;
    for (id, message) in copies {
        if let Some(plan) = &message.plan {
            plans::create_copy(tx, *id, plan, message.created_at).await?;
        }
    }
    let (mut steps, mut calls) = (Vec::new(), Vec::new());
    for &(message_id, message) in copies {
        for SharedStep { number: step, blocks, calls: of_step } in steps_of(message, message_id) {
            let blocks = serde_json::to_string(&blocks)?;
            steps.push(SharedStepRow { message_id, message, step, blocks });
            calls.extend((0_i32..).zip(of_step).map(|(position, (call, provider_call_id))| SharedCall {
                message: message_id,
                call,
                provider_call_id,
                step,
                position,
            }));
        }
    }
    copies::create_steps(tx, &steps).await?;
    copies::create_tool_calls(tx, &calls).await?;
    if calls.iter().all(|shared| shared.call.files.is_empty()) {
        return Ok(());
    }
    let places = copies::list_call_places(tx, conversation).await?;
    let rows: HashMap<_, _> =
        places.into_iter().map(|place| ((place.message_id, place.step, place.position), place.id)).collect();
    let row_of = |shared: &SharedCall<'_>| rows.get(&(shared.message, shared.step, shared.position)).copied();
    let of_call = |shared: &SharedCall<'_>| {
        let own = shared.call.files.iter().filter_map(|file| files.get(&file.id));
        own.filter_map(|file| Some((shared.message, row_of(shared)?, file.id.0))).collect::<Vec<_>>()
    };
    let call_files: Vec<_> = calls.iter().flat_map(of_call).collect();
    Ok(copies::create_call_files(tx, &call_files).await?)
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
                input_text: call.proposed_input.as_ref().unwrap_or(&call.input).written().into_owned(),
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
