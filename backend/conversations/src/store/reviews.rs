//! SQL for the votes of reviewing models on high-risk tool calls.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use tallybook_agent::Vote;
use tallybook_database::{Database, Transaction, select};
use tallybook_protocol::{ToolCallId, ToolCallReview, Verdict};

use super::{by_ids::by_ids, rows::ToolCallRow};

/// A row of `tool_call_reviews`, with the columns that clients receive.
#[derive(sqlx::FromRow)]
struct ReviewRow {
    tool_call_id: ToolCallId,
    model: String,
    #[sqlx(try_from = "String")]
    verdict: Verdict,
    reason: String,
    duration_ms: i64,
}

impl From<ReviewRow> for ToolCallReview {
    fn from(row: ReviewRow) -> Self {
        let ReviewRow { tool_call_id, model, verdict, reason, duration_ms } = row;
        Self { tool_call_id, model, verdict, reason, duration_ms }
    }
}

/// Replaces the votes on a call. If approval is requested again, the old votes were on another definition of the tool.
pub(crate) async fn replace_reviews(
    tx: &mut Transaction,
    id: ToolCallId,
    votes: &[Vote],
    at: DateTime<Utc>,
) -> sqlx::Result<()> {
    tx.query("DELETE FROM tool_call_reviews WHERE tool_call_id = ?").bind(id).execute().await?;
    for Vote { model, verdict, reason, usage, duration_ms } in votes {
        let vote = tx
            .query(
                "INSERT INTO tool_call_reviews \
                 (tool_call_id, model, verdict, reason, input_tokens, output_tokens, duration_ms, created_at) \
                 VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            )
            .bind(id)
            .bind(model)
            .bind(verdict.as_str())
            .bind(reason);
        let vote = vote.bind(usage.input_tokens).bind(usage.output_tokens).bind(*duration_ms).bind(at);
        vote.execute().await?;
    }
    Ok(())
}

/// Adds the votes to calls.
pub(crate) async fn add_reviews(db: &Database, calls: &mut [ToolCallRow]) -> sqlx::Result<()> {
    // Calls without a hash were not reviewed.
    let ids: Vec<ToolCallId> = calls.iter().filter(|call| call.tool_hash.is_some()).map(|call| call.id).collect();
    let rows: Vec<ReviewRow> = by_ids(
        db,
        select!(
            "SELECT tool_call_id, model, verdict, reason, duration_ms FROM tool_call_reviews WHERE tool_call_id IN ("
        ),
        &ids,
        ") ORDER BY created_at, id",
    )
    .await?;
    let mut reviews: HashMap<ToolCallId, Vec<ToolCallReview>> = HashMap::new();
    for row in rows {
        reviews.entry(row.tool_call_id).or_default().push(row.into());
    }
    for call in calls {
        call.reviews = reviews.remove(&call.id).unwrap_or_default();
    }
    Ok(())
}
