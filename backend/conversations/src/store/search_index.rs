//! SQL for the index of the search: blocks, the messages in them, and bits. `search::index` explains them.

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_database::{Database, LONG_STATEMENT_TIMEOUT, MAX_IDS_PER_QUERY, select};
use tallybook_protocol::MessageId;

use crate::{search::index::block::Range, store::rows::ConversationId};

/// Maximum size of the bits that are inserted by one statement, in bytes, and of the number of slots.
const BYTES_PER_INSERT: usize = 256 * 1024;
const SLOTS_PER_INSERT: usize = 512;

/// Number of messages that are inserted by one statement.
const MESSAGES_PER_INSERT: usize = 500;

/// The size of a message's texts and of those of its tool calls, in bytes. MySQL returns sums as decimals.
macro_rules! message_bytes {
    () => {
        "CAST(OCTET_LENGTH(m.content) + COALESCE((SELECT SUM(OCTET_LENGTH(t.input_text) \
         + COALESCE(OCTET_LENGTH(t.output), 0) + COALESCE(OCTET_LENGTH(t.error), 0)) \
         FROM tool_calls t WHERE t.message_id = m.id), 0) + COALESCE((SELECT SUM(OCTET_LENGTH(t.input_text) \
         + COALESCE(OCTET_LENGTH(t.output), 0) + COALESCE(OCTET_LENGTH(t.error), 0)) \
         FROM copied_tool_calls t WHERE t.message_id = m.id), 0) AS SIGNED)"
    };
}
pub(super) use message_bytes;

/// The condition that some messages of a conversation may not be in the index. Each turn changes `updated_at`.
macro_rules! is_not_indexed {
    () => {
        "(c.search_indexed_at IS NULL OR c.search_indexed_at <> c.updated_at)"
    };
}

/// A block of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, sqlx::FromRow)]
pub(crate) struct BlockRow {
    pub id: i64,
    pub oldest_at: DateTime<Utc>,
    pub newest_at: DateTime<Utc>,
}

/// A conversation of which some messages may not be in the index.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(crate) struct UnindexedConversation {
    pub id: ConversationId,
    pub updated_at: DateTime<Utc>,
    pub has_messages: bool,
}

/// A message that is not in the index.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(crate) struct UnindexedMessage {
    pub id: MessageId,
    pub epoch: i32,
    pub created_at: DateTime<Utc>,
    /// `true` if its turn has ended, so that its texts stay the same under this epoch.
    pub has_ended: bool,
    /// Size of its texts.
    pub bytes: i64,
}

/// The texts of a tool call.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct CallTexts {
    pub message_id: MessageId,
    pub tool_name: String,
    pub input_text: String,
    pub output: Option<String>,
    pub error: Option<String>,
}

/// A new block.
pub(crate) struct NewBlock {
    pub user: UserId,
    /// Size of its texts.
    pub bytes: i64,
    /// The bits of each slot.
    pub rows: Vec<Vec<u8>>,
    /// The columns of each message.
    pub ranges: Vec<Range>,
    /// The epoch of each message.
    pub epochs: Vec<(MessageId, i32)>,
}

/// Lists a user's blocks by the times of their newest messages.
pub(crate) async fn list_blocks(db: &Database, user: UserId) -> sqlx::Result<Vec<BlockRow>> {
    let list = select!("SELECT id, oldest_at, newest_at FROM search_blocks WHERE user_id = ? ORDER BY newest_at, id");
    db.reader().query(list).bind(user).fetch_all().await
}

/// Lists at most `limit` messages of these conversations that are not in the index, with their times.
pub(crate) async fn list_unindexed(
    db: &Database,
    conversations: &[UnindexedConversation],
    limit: usize,
) -> sqlx::Result<Vec<(DateTime<Utc>, MessageId)>> {
    if conversations.is_empty() {
        return Ok(Vec::new());
    }
    // The conversations are listed before. With a join, MySQL reads all messages.
    let mut query = db.reader().query(select!(
        "SELECT m.created_at, m.id FROM messages m LEFT JOIN search_messages s ON s.message_id = m.id \
         AND s.epoch = m.epoch WHERE s.message_id IS NULL AND m.conversation_id IN ("
    ));
    query.push_list(conversations.iter().map(|conversation| conversation.id));
    query.push(") LIMIT ").push_bind(i64::try_from(limit).unwrap_or(i64::MAX));
    query.fetch_all().await
}

/// Returns the bits of these slots in these blocks: block, slot and bits.
pub(crate) async fn list_bits(
    db: &Database,
    blocks: &[BlockRow],
    slots: &[i32],
) -> sqlx::Result<Vec<(i64, i32, Vec<u8>)>> {
    let mut query = db.reader().query(select!("SELECT block_id, slot, bits FROM search_bits WHERE block_id IN ("));
    query.push_list(blocks.iter().map(|block| block.id)).push(") AND slot IN (");
    query.push_list(slots.iter().copied()).push(")");
    query.fetch_all().await
}

/// Returns the encoded columns of the messages of some blocks.
pub(crate) async fn list_ranges(db: &Database, blocks: &[i64]) -> sqlx::Result<Vec<(i64, Vec<u8>)>> {
    db.reader().list_by_ids(select!("SELECT id, messages FROM search_blocks WHERE id IN ("), blocks, ")").await
}

/// Lists at most `limit` users after the user `after`, by ID.
pub(crate) async fn list_users(db: &Database, after: UserId, limit: u32) -> sqlx::Result<Vec<UserId>> {
    let list = select!("SELECT id FROM users WHERE id > ? AND deleted_at IS NULL ORDER BY id LIMIT ?");
    db.reader().query(list).bind(after).bind(limit).fetch_values().await
}

/// Returns the size of the texts of these conversations that are not in the index, in bytes, and the number of their
/// messages.
pub(crate) async fn count_unindexed(
    db: &Database,
    conversations: &[UnindexedConversation],
) -> sqlx::Result<(i64, i64)> {
    let mut query = db.reader().query(select!(concat!(
        "SELECT CAST(COALESCE(SUM(",
        message_bytes!(),
        "), 0) AS SIGNED), COUNT(*) FROM messages m LEFT JOIN search_messages s ON s.message_id = m.id \
         AND s.epoch = m.epoch WHERE s.message_id IS NULL AND m.conversation_id IN ("
    )));
    query.push_list(conversations.iter().map(|conversation| conversation.id)).push(")");
    query.with_timeout(LONG_STATEMENT_TIMEOUT).fetch_one().await
}

/// Lists a user's blocks that have less than `bytes` bytes of texts and less than `messages` messages.
pub(crate) async fn list_small_blocks(
    db: &Database,
    user: UserId,
    bytes: i64,
    messages: usize,
) -> sqlx::Result<Vec<i64>> {
    let list = select!(
        "SELECT id FROM search_blocks WHERE user_id = ? AND bytes < ? AND OCTET_LENGTH(messages) < ? ORDER BY id"
    );
    let range_bytes = i64::try_from(messages * Range::BYTES).unwrap_or(i64::MAX);
    db.reader().query(list).bind(user).bind(bytes).bind(range_bytes).fetch_values().await
}

/// Lists at most `limit` of a user's conversations, after the conversation `after`, of which some messages may not be
/// in the index.
pub(crate) async fn list_unindexed_conversations(
    db: &Database,
    user: UserId,
    after: ConversationId,
    limit: u32,
) -> sqlx::Result<Vec<UnindexedConversation>> {
    db.reader()
        .query(select!(concat!(
            "SELECT c.id, c.updated_at, c.head_message_id IS NOT NULL AS has_messages FROM conversations c \
             WHERE c.user_id = ? AND c.id > ? AND c.deleted_at IS NULL AND ",
            is_not_indexed!(),
            " ORDER BY c.id LIMIT ?"
        )))
        .bind(user)
        .bind(after)
        .bind(limit)
        .fetch_all()
        .await
}

/// Lists at most `limit` messages of a conversation, after the message `after`, that are not in the index.
pub(crate) async fn list_unindexed_messages(
    db: &Database,
    conversation: ConversationId,
    after: MessageId,
    limit: u32,
) -> sqlx::Result<Vec<UnindexedMessage>> {
    db.reader()
        .query(select!(concat!(
            "SELECT m.id, m.epoch, m.created_at, m.status NOT IN ('streaming', 'awaiting_approval') AS has_ended, ",
            message_bytes!(),
            " AS bytes FROM messages m LEFT JOIN search_messages s ON s.message_id = m.id AND s.epoch = m.epoch \
             WHERE m.conversation_id = ? AND m.id > ? AND s.message_id IS NULL ORDER BY m.id LIMIT ?"
        )))
        .with_timeout(LONG_STATEMENT_TIMEOUT)
        .bind(conversation)
        .bind(after)
        .bind(limit)
        .fetch_all()
        .await
}

/// Returns the contents of messages.
pub(crate) async fn list_contents(db: &Database, ids: &[MessageId]) -> sqlx::Result<Vec<(MessageId, String)>> {
    db.reader().list_by_ids(select!("SELECT id, content FROM messages WHERE id IN ("), ids, ") ORDER BY id").await
}

/// Returns the texts of all tool calls of messages.
pub(crate) async fn list_call_texts(db: &Database, ids: &[MessageId]) -> sqlx::Result<Vec<CallTexts>> {
    let selects = (
        select!("SELECT message_id, tool_name, input_text, output, error FROM tool_calls WHERE message_id IN ("),
        ") UNION ALL SELECT message_id, tool_name, input_text, output, error FROM copied_tool_calls WHERE message_id IN (",
    );
    db.reader().list_union_by_ids(selects, ids, ") ORDER BY message_id").await
}

/// Stores a block. Fails with a unique violation if another process has indexed one of its messages.
pub(crate) async fn create_block(db: &Database, block: &NewBlock) -> sqlx::Result<()> {
    let times = || block.ranges.iter().map(|range| range.at);
    let (Some(oldest), Some(newest)) = (times().min(), times().max()) else { return Ok(()) };
    let mut tx = db.begin().await?;
    let create =
        tx.query("INSERT INTO search_blocks (user_id, bytes, oldest_at, newest_at, messages) VALUES (?, ?, ?, ?, ?)");
    let create = create.bind(block.user).bind(block.bytes).bind(oldest).bind(newest).bind(Range::encode(&block.ranges));
    let id = create.execute().await?.inserted_id;
    // The messages come first, because another process can have indexed them.
    for messages in block.epochs.chunks(MESSAGES_PER_INSERT) {
        let mut insert = tx.query("INSERT INTO search_messages (message_id, epoch, block_id) VALUES ");
        insert.push_rows(messages, |row, (message, epoch)| {
            row.push(*message).push(*epoch).push(id);
        });
        insert.execute().await?;
    }
    let slots: Vec<(i32, &Vec<u8>)> = (0..).zip(&block.rows).collect();
    let row_bytes = block.rows.first().map_or(1, Vec::len).max(1);
    for slots in slots.chunks((BYTES_PER_INSERT / row_bytes).clamp(1, SLOTS_PER_INSERT)) {
        let mut insert = tx.query("INSERT INTO search_bits (block_id, slot, bits) VALUES ");
        insert.push_rows(slots, |row, (slot, bits)| {
            row.push(id).push(*slot).push(bits.as_slice());
        });
        insert.execute().await?;
    }
    tx.commit().await
}

/// Marks conversations whose messages are all in the index, except those that have changed since `updated_at` was read.
pub(crate) async fn set_indexed(db: &Database, conversations: &[UnindexedConversation]) -> sqlx::Result<()> {
    for conversations in conversations.chunks(MAX_IDS_PER_QUERY) {
        let mut update =
            db.writer().query("UPDATE conversations SET search_indexed_at = updated_at WHERE deleted_at IS NULL AND (");
        for (number, conversation) in conversations.iter().enumerate() {
            update.push(if number == 0 { "id = " } else { " OR id = " }).push_bind(conversation.id);
            update.push(" AND updated_at = ").push_bind(conversation.updated_at);
        }
        update.push(")");
        update.execute().await?;
    }
    Ok(())
}

/// Deletes a block that has texts of a conversation. The other conversations in the block are indexed later. Returns
/// `false` if no block has any.
pub(crate) async fn delete_block_of(db: &Database, conversation: ConversationId) -> sqlx::Result<bool> {
    let find = select!(
        "SELECT s.block_id FROM messages m JOIN search_messages s ON s.message_id = m.id \
         WHERE m.conversation_id = ? LIMIT 1"
    );
    let block: Option<i64> = db.reader().query(find).bind(conversation).fetch_optional_value().await?;
    let Some(block) = block else { return Ok(false) };
    delete_block(db, block).await?;
    Ok(true)
}

/// Deletes a block. Its messages are indexed later.
pub(crate) async fn delete_block(db: &Database, block: i64) -> sqlx::Result<()> {
    let list = select!(
        "SELECT DISTINCT m.conversation_id FROM search_messages s JOIN messages m ON m.id = s.message_id \
         WHERE s.block_id = ? ORDER BY m.conversation_id"
    );
    let conversations: Vec<ConversationId> = db.reader().query(list).bind(block).fetch_values().await?;
    let mut tx = db.begin().await?;
    if !conversations.is_empty() {
        let mut update =
            tx.query("UPDATE conversations SET search_indexed_at = NULL WHERE deleted_at IS NULL AND id IN (");
        update.push_list(conversations).push(")");
        update.execute().await?;
    }
    tx.query("DELETE FROM search_blocks WHERE id = ?").bind(block).execute().await?;
    tx.commit().await
}
