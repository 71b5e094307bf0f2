//! SQL that reads `messages`.

use std::collections::{HashMap, HashSet};

use tallybook_database::{Database, Transaction, select};
use tallybook_protocol::MessageId;

use crate::store::rows::{ConversationId, MessageRow, SizeRow, StateRow, TreeNode};

/// Columns of a [`MessageRow`], of `messages m`.
macro_rules! message_columns {
    () => {
        "id, parent_id, role, content, parts, status, error, error_code, stop_reason, epoch, \
         created_at, completed_at, COALESCE((SELECT k.provider FROM model_calls k \
         WHERE k.message_id = m.id AND k.purpose = 'answer' ORDER BY k.step DESC LIMIT 1), \
         (SELECT k.provider FROM copied_model_calls k WHERE k.message_id = m.id AND k.provider <> '' \
         ORDER BY k.step DESC LIMIT 1)) AS provider, COALESCE(m.model, (SELECT k.model FROM model_calls k \
         WHERE k.message_id = m.id AND k.purpose = 'answer' ORDER BY k.step DESC \
         LIMIT 1)) AS model, m.told_from, (SELECT s.summary FROM conversation_summaries s \
         WHERE s.id = m.summary_id) AS told_summary, m.mode, (SELECT MAX(e.end_offset) \
         FROM plans p JOIN plan_steps e ON e.plan_id = p.id \
         WHERE p.message_id = m.id) AS plan_end, (SELECT f.rating FROM feedback f \
         WHERE f.message_id = m.id) AS rating, (SELECT f.reason FROM feedback f \
         WHERE f.message_id = m.id) AS rating_reason"
    };
}

const LIST_TREE_NODES: &str = "SELECT id, parent_id FROM messages WHERE conversation_id = ? ORDER BY created_at, id";

/// Returns the messages `ids`, in that order.
pub(crate) async fn list_messages(db: &Database, ids: &[MessageId]) -> sqlx::Result<Vec<MessageRow>> {
    let rows = db
        .reader()
        .list_by_ids(select!(concat!("SELECT ", message_columns!(), " FROM messages m WHERE m.id IN (")), ids, ")")
        .await?;
    Ok(as_named(rows, ids, |row: &MessageRow| row.id))
}

/// Returns the sizes of the text and reasoning of the messages `ids`, in bytes.
pub(crate) async fn list_text_bytes(db: &Database, ids: &[MessageId]) -> sqlx::Result<Vec<(MessageId, i64)>> {
    db.reader()
        .list_by_ids(
            select!(
                "SELECT m.id, CAST(OCTET_LENGTH(m.content) + COALESCE((SELECT SUM(OCTET_LENGTH(r.words)) \
             FROM reasonings r WHERE r.message_id = m.id), 0) AS SIGNED) FROM messages m WHERE m.id IN ("
            ),
            ids,
            ")",
        )
        .await
}

/// Returns the estimated sizes of the messages `ids` in a prompt.
pub(crate) async fn list_sizes(db: &Database, ids: &[MessageId]) -> sqlx::Result<Vec<SizeRow>> {
    // MySQL returns sums of integers as decimals.
    let select = select!(
        "SELECT m.id, CAST(OCTET_LENGTH(m.content) + COALESCE((SELECT SUM(OCTET_LENGTH(k.blocks)) \
         FROM model_calls k WHERE k.message_id = m.id \
         AND k.purpose = 'answer'), 0) + COALESCE((SELECT SUM(CASE WHEN OCTET_LENGTH(t.output) > \
         65536 THEN 65536 ELSE OCTET_LENGTH(t.output) END) FROM tool_calls t \
         WHERE t.message_id = m.id), 0) + COALESCE((SELECT SUM(OCTET_LENGTH(k.blocks)) \
         FROM copied_model_calls k WHERE k.message_id = m.id), 0) + COALESCE((SELECT SUM(CASE WHEN \
         OCTET_LENGTH(t.output) > 65536 THEN 65536 ELSE OCTET_LENGTH(t.output) END) \
         FROM copied_tool_calls t WHERE t.message_id = m.id), 0) + \
         COALESCE((SELECT SUM(CASE WHEN f.text_bytes > 262144 THEN 262144 \
         ELSE f.text_bytes END) FROM message_files x JOIN files f ON f.id = x.file_id \
         WHERE x.message_id = m.id), 0) AS SIGNED) AS bytes, (SELECT COUNT(*) FROM tool_calls t \
         WHERE t.message_id = m.id) + (SELECT COUNT(*) FROM copied_tool_calls t \
         WHERE t.message_id = m.id) AS calls, EXISTS (SELECT 1 FROM tool_calls t \
         JOIN tool_call_files x ON x.tool_call_id = t.id WHERE t.message_id = m.id \
         UNION ALL SELECT 1 FROM message_files x WHERE x.message_id = m.id \
         AND x.copied_call_id IS NOT NULL) AS has_call_files \
         FROM messages m WHERE m.id IN ("
    );
    db.reader().list_by_ids(select, ids, ")").await
}

/// Lists the tree nodes of all messages of a conversation, oldest first and each after its parent.
pub(crate) async fn list_tree_nodes(db: &Database, conversation_id: ConversationId) -> sqlx::Result<Vec<TreeNode>> {
    let places = db.reader().query(select!(LIST_TREE_NODES)).bind(conversation_id).fetch_all().await?;
    Ok(parents_first(places))
}

/// Lists the tree nodes as a transaction sees them.
pub(crate) async fn list_tree_nodes_in(
    tx: &mut Transaction,
    conversation_id: ConversationId,
) -> sqlx::Result<Vec<TreeNode>> {
    let places = tx.query(LIST_TREE_NODES).bind(conversation_id).fetch_all().await?;
    Ok(parents_first(places))
}

/// Returns a message of a conversation.
pub(crate) async fn find_message(
    db: &Database,
    conversation_id: ConversationId,
    id: MessageId,
) -> sqlx::Result<Option<MessageRow>> {
    db.reader()
        .query(select!(concat!(
            "SELECT ",
            message_columns!(),
            " FROM messages m WHERE m.id = ? \
             AND m.conversation_id = ?"
        )))
        .bind(id)
        .bind(conversation_id)
        .fetch_optional()
        .await
}

/// Returns the status and epoch of a message of a conversation.
pub(crate) async fn find_state(
    db: &Database,
    conversation_id: ConversationId,
    id: MessageId,
) -> sqlx::Result<Option<StateRow>> {
    db.reader()
        .query(select!("SELECT status, epoch FROM messages WHERE id = ? AND conversation_id = ?"))
        .bind(id)
        .bind(conversation_id)
        .fetch_optional()
        .await
}

/// Returns the number of a conversation's complete answers, on every branch.
pub(crate) async fn count_complete_answers(db: &Database, conversation_id: ConversationId) -> sqlx::Result<i64> {
    db.reader()
        .query(select!(
            "SELECT COUNT(*) FROM messages WHERE conversation_id = ? AND role = 'assistant' AND status = 'complete'"
        ))
        .bind(conversation_id)
        .fetch_value()
        .await
}

/// Returns the text of a conversation's first message, which gave the conversation its first title.
pub(crate) async fn find_first_question(
    db: &Database,
    conversation_id: ConversationId,
) -> sqlx::Result<Option<String>> {
    db.reader()
        .query(select!(
            "SELECT content FROM messages WHERE conversation_id = ? AND role = 'user' ORDER BY created_at, id LIMIT 1"
        ))
        .bind(conversation_id)
        .fetch_optional_value()
        .await
}

/// Returns the same nodes, each after its parent and otherwise in the given order. A node that is its own ancestor is
/// left out. Primary keys are not used: if several servers of a database cluster assign keys, later rows can have
/// smaller ones.
fn parents_first(places: Vec<TreeNode>) -> Vec<TreeNode> {
    let known: HashSet<MessageId> = places.iter().map(|place| place.id).collect();
    let mut done = HashSet::with_capacity(places.len());
    let mut waiting: HashMap<MessageId, Vec<TreeNode>> = HashMap::new();
    let mut ordered = Vec::with_capacity(places.len());
    for place in places {
        if let Some(parent) = place.parent_id.filter(|parent| known.contains(parent) && !done.contains(parent)) {
            waiting.entry(parent).or_default().push(place);
            continue;
        }
        let mut next = vec![place];
        while let Some(place) = next.pop() {
            done.insert(place.id);
            ordered.push(place);
            next.extend(waiting.remove(&place.id).into_iter().flatten().rev());
        }
    }
    ordered
}

/// Returns the rows in the order of `ids`.
fn as_named<T>(mut rows: Vec<T>, ids: &[MessageId], id_of: impl Fn(&T) -> MessageId) -> Vec<T> {
    let places: HashMap<MessageId, usize> = ids.iter().enumerate().map(|(place, id)| (*id, place)).collect();
    rows.sort_by_key(|row| places.get(&id_of(row)).copied());
    rows
}

#[cfg(test)]
mod tests {
    use super::{MessageId, TreeNode, as_named, parents_first};

    fn ordered(places: &[(i64, Option<i64>)]) -> Vec<i64> {
        let place =
            |&(id, parent): &(i64, Option<i64>)| TreeNode { id: MessageId(id), parent_id: parent.map(MessageId) };
        parents_first(places.iter().map(place).collect()).into_iter().map(|place| place.id.0).collect()
    }

    #[test]
    fn a_message_comes_after_its_parent_whatever_their_keys() {
        assert_eq!(ordered(&[(1, None), (2, Some(1)), (3, None), (4, Some(2))]), [1, 2, 3, 4]);
        assert_eq!(ordered(&[(1, Some(2)), (2, Some(3)), (5, Some(3)), (4, Some(2)), (3, None)]), [3, 2, 1, 4, 5]);
        assert_eq!(ordered(&[(4, Some(9)), (1, Some(4))]), [4, 1]);
        assert_eq!(ordered(&[(1, Some(2)), (2, Some(1)), (3, None)]), [3]);
        assert_eq!(ordered(&[]), [0; 0]);
    }

    #[test]
    fn rows_are_returned_in_the_order_of_the_ids() {
        let ids = [7, 2, 5].map(MessageId);
        assert_eq!(as_named(vec![2, 5, 7], &ids, |row| MessageId(*row)), [7, 2, 5]);
    }
}
