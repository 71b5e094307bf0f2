//! SQL for `reasonings`: the models' reasoning, one row per step. While a turn runs, its reasoning and its text are in
//! its journal.

use std::collections::HashMap;

use tallybook_database::{Database, Transaction, select};
use tallybook_protocol::{MessageId, Reasoning};

/// A row of `reasonings`.
#[derive(Clone, Debug, sqlx::FromRow)]
struct ReasoningRow {
    message_id: MessageId,
    step: i64,
    text_offset: i64,
    calls_before: i64,
    #[sqlx(rename = "words")]
    text: String,
    truncated: bool,
    duration_ms: Option<i64>,
}

impl ReasoningRow {
    fn into_reasoning(self) -> Reasoning {
        let Self { step, text_offset, calls_before, text, truncated, duration_ms, .. } = self;
        Reasoning { reasoning_id: step, offset: text_offset, calls_before, text, truncated, duration_ms }
    }
}

/// Stores reasoning, each with its message.
pub(crate) async fn create(tx: &mut Transaction, reasoning: &[(MessageId, &Reasoning)]) -> sqlx::Result<()> {
    tx.insert_rows(
        "INSERT INTO reasonings (message_id, step, text_offset, calls_before, words, truncated, duration_ms) VALUES ",
        reasoning,
        |(_, reasoning)| reasoning.text.len(),
        |row, (message_id, reasoning)| {
            row.push(*message_id).push(reasoning.reasoning_id).push(reasoning.offset).push(reasoning.calls_before);
            row.push(&reasoning.text).push(reasoning.truncated).push(reasoning.duration_ms);
        },
    )
    .await
}

/// Stores a turn's reasoning. Steps of earlier runs may be stored already, and are skipped.
pub(crate) async fn create_missing(
    tx: &mut Transaction,
    message_id: MessageId,
    reasoning: &[Reasoning],
) -> sqlx::Result<()> {
    if reasoning.is_empty() {
        return Ok(());
    }
    let known: Vec<i64> =
        tx.query("SELECT step FROM reasonings WHERE message_id = ?").bind(message_id).fetch_values().await?;
    let missing = reasoning.iter().filter(|reasoning| !known.contains(&reasoning.reasoning_id));
    let missing: Vec<(MessageId, &Reasoning)> = missing.map(|reasoning| (message_id, reasoning)).collect();
    create(tx, &missing).await
}

/// Deletes the reasoning of one step, which is discarded.
pub(crate) async fn delete(tx: &mut Transaction, message_id: MessageId, step: i64) -> sqlx::Result<()> {
    tx.query("DELETE FROM reasonings WHERE message_id = ? AND step = ?")
        .bind(message_id)
        .bind(step)
        .execute()
        .await
        .map(|_| ())
}

/// Returns the reasoning of the turns `message_ids`, which must be sorted.
pub(crate) async fn list(db: &Database, message_ids: &[MessageId]) -> sqlx::Result<HashMap<MessageId, Vec<Reasoning>>> {
    let rows: Vec<ReasoningRow> = db
        .reader()
        .list_by_ids(
            select!(
                "SELECT message_id, step, text_offset, calls_before, words, truncated, duration_ms FROM reasonings \
             WHERE message_id IN ("
            ),
            message_ids,
            ") ORDER BY message_id, step",
        )
        .await?;
    let mut by_message: HashMap<MessageId, Vec<Reasoning>> = HashMap::new();
    for row in rows {
        by_message.entry(row.message_id).or_default().push(row.into_reasoning());
    }
    Ok(by_message)
}

/// Returns the reasoning of one turn.
pub(crate) async fn list_of_turn(db: &Database, message_id: MessageId) -> sqlx::Result<Vec<Reasoning>> {
    Ok(list(db, &[message_id]).await?.remove(&message_id).unwrap_or_default())
}
