//! Adds messages to the index of the search, in the background and in blocks.

use std::{collections::HashMap, sync::Arc, time::Duration};

use tallybook_accounts::UserId;
use tallybook_database::{Database, FailureKind, classify, is_unique_violation, with_retries};
use tallybook_protocol::MessageId;
use tokio::time::sleep;

use crate::{
    context::Context,
    search::index::block::Builder,
    store::{
        ConversationId,
        search_index::{self, CallTexts, NewBlock, UnindexedConversation, UnindexedMessage},
    },
};

/// Interval between two rounds.
const POLL_INTERVAL: Duration = Duration::from_mins(1);

/// Pause after each block, so that other writes are not held up.
const PAUSE: Duration = Duration::from_millis(50);

/// Number of users in a round.
const USERS_PER_ROUND: u32 = 100;

/// Number of conversations, and of their messages, that are read at a time.
const CONVERSATIONS_PER_READ: u32 = 200;
const MESSAGES_PER_READ: u32 = 1000;

/// Size of the texts of a full block.
#[derive(Clone, Copy, Debug)]
struct BlockSize {
    bytes: i64,
    messages: usize,
}

/// A user's new messages are indexed as soon as they fill a small block, because each search compares them until then.
const SMALL: BlockSize = BlockSize { bytes: 1024 * 1024, messages: 5000 };

/// Large blocks need fewer reads. When a user has many small blocks, their messages are indexed again, in a large one.
const LARGE: BlockSize = BlockSize { bytes: 4 * 1024 * 1024, messages: 20_000 };
const MAX_SMALL_BLOCKS: usize = 4;

/// Maximum size of the texts of a message that is indexed, in bytes. Longer messages are compared by each search. So
/// the texts of a block have less than 5 MiB, which are at most 24,000 columns.
const MAX_MESSAGE_BYTES: i64 = 1024 * 1024;

/// Indexes the messages of users whenever they fill a block, until the server drains.
pub(crate) async fn watch(context: Arc<Context>) {
    let mut after = UserId(0);
    while context.draining.run_until_cancelled(sleep(POLL_INTERVAL)).await.is_some() {
        let filled = context.draining.run_until_cancelled(fill_users(&context.db, after, Fill::Full));
        match filled.await {
            Some(Ok(last)) => after = last.unwrap_or(UserId(0)),
            Some(Err(error)) => tracing::warn!(%error, "messages could not be added to the index of the search"),
            None => return,
        }
    }
}

/// Adds all messages to the index of the search, even if they do not fill a block.
pub async fn index_all_messages(db: &Database) -> sqlx::Result<()> {
    let mut after = Some(UserId(0));
    while let Some(user) = after {
        after = fill_users(db, user, Fill::All).await?;
    }
    Ok(())
}

/// Selects the messages that are indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fill {
    /// As many as fill blocks.
    Full,
    /// All of them.
    All,
}

/// Adds the messages of the next users after the user `after`. Returns the last of them, or `None` if no user follows.
async fn fill_users(db: &Database, after: UserId, fill: Fill) -> sqlx::Result<Option<UserId>> {
    let users = search_index::list_users(db, after, USERS_PER_ROUND).await?;
    for user in &users {
        match Box::pin(fill_user(db, *user, fill)).await {
            // Another process indexes the same messages.
            Err(error) if is_unique_violation(&error) => {}
            // Such as a message that was deleted meanwhile.
            Err(error) if classify(&error) == FailureKind::Permanent => {
                tracing::warn!(%error, user = user.0, "a user's messages could not be added to the index of the search");
            }
            filled => filled?,
        }
    }
    Ok(users.last().copied().filter(|_| users.len() == USERS_PER_ROUND as usize))
}

/// Adds a user's messages to the index.
async fn fill_user(db: &Database, user: UserId, fill: Fill) -> sqlx::Result<()> {
    let small = search_index::list_small_blocks(db, user, LARGE.bytes, LARGE.messages).await?;
    if small.len() >= MAX_SMALL_BLOCKS {
        for block in small {
            with_retries(|| search_index::delete_block(db, block)).await?;
            sleep(PAUSE).await;
        }
    }
    let Some(size) = block_size(db, user, fill).await? else { return Ok(()) };
    let mut pending = Pending { user, size, messages: Vec::new(), bytes: 0, conversations: Vec::new() };
    let mut after = ConversationId(0);
    loop {
        let conversations = list_conversations(db, user, after).await?;
        let Some(last) = conversations.last() else { break };
        after = last.id;
        for conversation in conversations {
            if conversation.has_messages {
                pending.add_conversation(db, conversation).await?;
            }
        }
    }
    if fill == Fill::All { pending.write(db).await } else { Ok(()) }
}

/// Returns the size of the blocks that a user's messages fill, or `None` if they do not fill any.
async fn block_size(db: &Database, user: UserId, fill: Fill) -> sqlx::Result<Option<BlockSize>> {
    let (mut bytes, mut messages) = (0, 0);
    let is_full = |bytes: i64, messages: usize, size: BlockSize| bytes >= size.bytes || messages >= size.messages;
    let mut after = ConversationId(0);
    loop {
        let conversations = list_conversations(db, user, after).await?;
        let Some(last) = conversations.last() else { break };
        after = last.id;
        let (more_bytes, more_messages) = search_index::count_unindexed(db, &conversations).await?;
        bytes += more_bytes;
        messages += usize::try_from(more_messages).unwrap_or(0);
        if is_full(bytes, messages, LARGE) {
            return Ok(Some(LARGE));
        }
    }
    Ok((fill == Fill::All || is_full(bytes, messages, SMALL)).then_some(SMALL))
}

async fn list_conversations(
    db: &Database,
    user: UserId,
    after: ConversationId,
) -> sqlx::Result<Vec<UnindexedConversation>> {
    search_index::list_unindexed_conversations(db, user, after, CONVERSATIONS_PER_READ).await
}

/// Messages that are not in the index and wait until they fill a block.
struct Pending {
    user: UserId,
    size: BlockSize,
    messages: Vec<UnindexedMessage>,
    bytes: i64,
    /// The conversations that are indexed completely as soon as these messages are.
    conversations: Vec<UnindexedConversation>,
}

impl Pending {
    /// Adds the messages of a conversation, and writes each block that is full.
    async fn add_conversation(&mut self, db: &Database, conversation: UnindexedConversation) -> sqlx::Result<()> {
        let (mut after, mut is_complete) = (MessageId(0), true);
        loop {
            let messages = search_index::list_unindexed_messages(db, conversation.id, after, MESSAGES_PER_READ).await?;
            let Some(last) = messages.last() else { break };
            after = last.id;
            for message in messages {
                if !message.has_ended || message.bytes > MAX_MESSAGE_BYTES {
                    is_complete = false;
                    continue;
                }
                self.messages.push(message);
                self.bytes += message.bytes;
                if self.bytes >= self.size.bytes || self.messages.len() >= self.size.messages {
                    self.write(db).await?;
                    sleep(PAUSE).await;
                }
            }
        }
        if is_complete {
            self.conversations.push(conversation);
        }
        if self.messages.is_empty() { self.write(db).await } else { Ok(()) }
    }

    /// Writes the messages as a block, and marks the conversations that are now indexed.
    async fn write(&mut self, db: &Database) -> sqlx::Result<()> {
        let messages = std::mem::take(&mut self.messages);
        let bytes = std::mem::take(&mut self.bytes);
        if !messages.is_empty() {
            let block = build(db, self.user, bytes, &messages).await?;
            with_retries(|| search_index::create_block(db, &block)).await?;
        }
        search_index::set_indexed(db, &std::mem::take(&mut self.conversations)).await
    }
}

/// Builds the block of some messages.
async fn build(db: &Database, user: UserId, bytes: i64, messages: &[UnindexedMessage]) -> sqlx::Result<NewBlock> {
    let ids: Vec<MessageId> = messages.iter().map(|message| message.id).collect();
    let mut contents: HashMap<MessageId, String> = search_index::list_contents(db, &ids).await?.into_iter().collect();
    let mut calls: HashMap<MessageId, Vec<CallTexts>> = HashMap::new();
    for call in search_index::list_call_texts(db, &ids).await? {
        calls.entry(call.message_id).or_default().push(call);
    }
    let sources = messages.to_vec();
    let add_all = move || {
        let mut builder = Builder::new();
        for message in sources {
            // A message without content was deleted meanwhile.
            let Some(content) = contents.remove(&message.id) else { continue };
            let calls = calls.remove(&message.id).unwrap_or_default();
            let texts = calls.iter().flat_map(|call| {
                let texts = [Some(&call.tool_name), Some(&call.input_text), call.output.as_ref(), call.error.as_ref()];
                texts.into_iter().flatten().map(String::as_str)
            });
            builder.add(message.id, message.created_at, [content.as_str()].into_iter().chain(texts));
        }
        builder.finish()
    };
    let built = tokio::task::spawn_blocking(add_all).await;
    let (rows, ranges) = built.map_err(|error| sqlx::Error::AnyDriverError(error.into()))?;
    let epochs = messages.iter().map(|message| (message.id, message.epoch)).collect();
    Ok(NewBlock { user, bytes, rows, ranges, epochs })
}
