//! SQL that reads by what plans answers were made, whosever they are.

use tallybook_database::{Database, select};
use tallybook_protocol::{MessageId, PlanStepStatus};

use super::sql::list_by_ids;

const LIST_STEPS_OF: &str = "SELECT p.message_id, s.instruction, s.status, s.attempt, s.reason \
     FROM plans p JOIN plan_steps s ON s.plan_id = p.id WHERE p.message_id IN (";

/// A step of an answer's plan.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct PlanStepRow {
    pub(crate) message_id: MessageId,
    pub(crate) instruction: String,
    #[sqlx(try_from = "String")]
    pub(crate) status: PlanStepStatus,
    pub(crate) attempt: i32,
    /// Why its last attempt was judged as it was, where there is something to say.
    pub(crate) reason: Option<String>,
}

/// The steps of the plans of several turns, in order. What they say is short.
pub(in crate::book) async fn list_steps_of(
    db: &Database,
    message_ids: &[MessageId],
    limit: u32,
) -> sqlx::Result<Vec<PlanStepRow>> {
    list_by_ids(db, select!(LIST_STEPS_OF), message_ids, ") ORDER BY p.message_id, s.revision, s.position", Some(limit))
        .await
}
