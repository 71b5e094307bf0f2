//! SQL that reads the plans of any user's answers.

use tallybook_database::{Database, select};
use tallybook_protocol::{MessageId, PlanStepStatus};

use super::sql::list_first_by_ids;

/// A step of an answer's plan.
#[derive(Clone, Debug, sqlx::FromRow)]
#[expect(missing_docs, reason = "fields without a comment are columns of that name")]
pub struct PlanStepRow {
    pub message_id: MessageId,
    pub instruction: String,
    #[sqlx(try_from = "String")]
    pub status: PlanStepStatus,
    pub attempt: i32,
    /// The reason for the verdict on the last attempt, if one is stored.
    pub reason: Option<String>,
}

/// Returns the plan steps of several turns, in order. Their texts are short.
pub(crate) async fn list_steps_of(
    db: &Database,
    message_ids: &[MessageId],
    limit: u32,
) -> sqlx::Result<Vec<PlanStepRow>> {
    list_first_by_ids(
        db,
        select!(
            "SELECT p.message_id, s.instruction, s.status, s.attempt, s.reason \
             FROM plans p JOIN plan_steps s ON s.plan_id = p.id WHERE p.message_id IN ("
        ),
        message_ids,
        ") ORDER BY p.message_id, s.revision, s.position",
        limit,
    )
    .await
}
