//! Consistency checks of the database (`tallybook admin check`): rules that the server keeps, but no key or constraint
//! of the tables enforces.

use tallybook_database::{COMMAND_TIMEOUT, Database, Select, select};

/// The rules: the text that follows the number of violations, and the statement that counts them.
const RULES: [(&str, Select); 19] = [
    (
        "budgets belong to a user or a group that does not exist",
        select!(
            "SELECT COUNT(*) FROM budgets WHERE principal <> 'all' \
             AND principal NOT IN (SELECT 'user:' || id FROM users) \
             AND principal NOT IN (SELECT 'group:' || id FROM user_groups)"
        ),
    ),
    (
        "conversations have an active message of another conversation, or one that has ended",
        select!(
            "SELECT COUNT(*) FROM conversations c LEFT JOIN messages m ON m.id = c.active_message_id \
             AND m.conversation_id = c.id AND m.status IN ('streaming', 'awaiting_approval') \
             WHERE c.active_message_id IS NOT NULL AND m.id IS NULL"
        ),
    ),
    (
        "answers are running or wait for approval, but are not the active message of their conversation",
        select!(
            "SELECT COUNT(*) FROM messages m JOIN conversations c ON c.id = m.conversation_id WHERE m.status IN \
             ('streaming', 'awaiting_approval') AND (c.active_message_id IS NULL OR c.active_message_id <> m.id)"
        ),
    ),
    (
        "conversations show a message of another conversation",
        select!(
            "SELECT COUNT(*) FROM conversations c LEFT JOIN messages m ON m.id = c.head_message_id \
             AND m.conversation_id = c.id WHERE c.head_message_id IS NOT NULL AND m.id IS NULL"
        ),
    ),
    (
        "messages have a parent in another conversation, or a later parent",
        select!(
            "SELECT COUNT(*) FROM messages m LEFT JOIN messages p ON p.id = m.parent_id AND p.conversation_id = \
             m.conversation_id AND p.created_at <= m.created_at WHERE m.parent_id IS NOT NULL AND p.id IS NULL"
        ),
    ),
    (
        "tool calls are running in an answer that has ended",
        select!(
            "SELECT COUNT(*) FROM tool_calls t JOIN messages m ON m.id = t.message_id \
             WHERE t.status = 'pending' AND m.status NOT IN ('streaming', 'awaiting_approval')"
        ),
    ),
    (
        "tool calls wait for approval in an answer that has ended",
        select!(
            "SELECT COUNT(*) FROM tool_calls t JOIN messages m ON m.id = t.message_id \
             WHERE t.status = 'awaiting_approval' AND m.status NOT IN ('streaming', 'awaiting_approval')"
        ),
    ),
    (
        "tool calls have ended without an end time",
        select!("SELECT COUNT(*) FROM tool_calls WHERE status IN ('success', 'error') AND completed_at IS NULL"),
    ),
    (
        "tool calls succeeded with an error, or failed without one",
        select!(
            "SELECT COUNT(*) FROM tool_calls WHERE (status = 'success' AND error IS NOT NULL) \
             OR (status = 'error' AND error IS NULL)"
        ),
    ),
    (
        "answers have ended without an end time",
        select!(
            "SELECT COUNT(*) FROM messages WHERE status IN ('complete', 'failed', 'stopped', 'interrupted') \
             AND completed_at IS NULL AND role = 'assistant'"
        ),
    ),
    (
        "plan steps are running in an answer that is complete",
        select!(
            "SELECT COUNT(*) FROM plan_steps s JOIN plans p ON p.id = s.plan_id JOIN messages m ON m.id = p.message_id \
             WHERE s.status = 'executing' AND m.status = 'complete'"
        ),
    ),
    (
        "re-runs have ended without a duration",
        select!("SELECT COUNT(*) FROM tool_reruns WHERE status <> 'pending' AND duration_ms IS NULL"),
    ),
    (
        "copied tool calls are in a message that is missing, or that is not a copied answer",
        select!(
            "SELECT COUNT(*) FROM copied_tool_calls t LEFT JOIN messages m ON m.id = t.message_id \
             AND m.copied_from IS NOT NULL AND m.role = 'assistant' WHERE m.id IS NULL"
        ),
    ),
    (
        "copied steps are in a message that is missing, or that is not a copied answer",
        select!(
            "SELECT COUNT(*) FROM copied_model_calls k LEFT JOIN messages m ON m.id = k.message_id \
             AND m.copied_from IS NOT NULL AND m.role = 'assistant' WHERE m.id IS NULL"
        ),
    ),
    (
        // Clients receive the negated ID of a copied call, so no row may have a negative one.
        "tool calls or copied tool calls have an ID that is not positive, or are copies of such a call",
        select!(
            "SELECT (SELECT COUNT(*) FROM tool_calls WHERE id <= 0) \
             + (SELECT COUNT(*) FROM copied_tool_calls WHERE id <= 0 OR original_id <= 0)"
        ),
    ),
    (
        "copied answers have tool calls of their own",
        select!(
            "SELECT COUNT(*) FROM tool_calls t JOIN messages m ON m.id = t.message_id WHERE m.copied_from IS NOT NULL"
        ),
    ),
    (
        "files belong to a copied tool call of another message, or to one that is missing",
        select!(
            "SELECT COUNT(*) FROM message_files f LEFT JOIN copied_tool_calls t ON t.id = f.copied_call_id \
             AND t.message_id = f.message_id WHERE f.copied_call_id IS NOT NULL AND t.id IS NULL"
        ),
    ),
    (
        "messages of users have feedback",
        select!("SELECT COUNT(*) FROM feedback f JOIN messages m ON m.id = f.message_id WHERE m.role <> 'assistant'"),
    ),
    (
        "conversations count as indexed for the search, but have messages that are not in the index",
        select!(
            "SELECT COUNT(DISTINCT c.id) FROM conversations c JOIN messages m ON m.conversation_id = c.id \
             LEFT JOIN search_messages s ON s.message_id = m.id AND s.epoch = m.epoch \
             WHERE c.search_indexed_at = c.updated_at AND s.message_id IS NULL"
        ),
    ),
];

/// Returns a sentence for each violated rule; empty if there are none. Each rule is checked by one statement, so a
/// server that writes at the same time causes no false alarm.
pub async fn check(db: &Database) -> sqlx::Result<Vec<String>> {
    let mut found = db.list_damage().await?;
    for (text, count) in RULES {
        let count: i64 = db.reader().query(count).with_timeout(COMMAND_TIMEOUT).fetch_value().await?;
        if count > 0 {
            found.push(format!("{count} {text}"));
        }
    }
    Ok(found)
}

/// Returns the number of rules.
pub fn count_rules() -> usize {
    RULES.len()
}
