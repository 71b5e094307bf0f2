//! SQL for `plans` and `plan_steps`: the plans of answers, and the progress of their steps.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use tallybook_agent::{NewPlan, PlanStepChange};
use tallybook_database::{Database, Transaction, now, select};
use tallybook_protocol::{MessageId, Plan, PlanId, PlanStep, PlanStepId, PlanStepStatus};

/// Builds a statement that selects steps with their plans, for the answers that `$which` names.
macro_rules! select_steps {
    ($which:literal) => {
        concat!(
            "SELECT p.message_id, p.id AS plan_id, p.revision AS plan_revision, p.reason AS plan_reason, \
             p.success_criteria, p.text_offset AS plan_offset, s.id, s.revision, s.instruction, \
             s.expected, s.status, s.attempt, s.reason, s.text_offset, s.calls_before, s.attempt_offset, \
             s.attempt_step, s.end_offset, s.end_step FROM plans p \
             JOIN plan_steps s ON s.plan_id = p.id WHERE p.message_id ",
            $which
        )
    };
}

const LIST: &str = select_steps!("IN (");

const LIST_ORDER: &str = ") ORDER BY p.message_id, s.revision, s.position";

/// A step with its plan.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct StepRow {
    message_id: MessageId,
    plan_id: PlanId,
    plan_revision: i32,
    plan_reason: Option<String>,
    success_criteria: String,
    plan_offset: i64,
    pub id: PlanStepId,
    revision: i32,
    instruction: String,
    expected: String,
    #[sqlx(try_from = "String")]
    pub status: PlanStepStatus,
    attempt: i32,
    reason: Option<String>,
    text_offset: Option<i64>,
    calls_before: Option<i64>,
    /// Byte offset in the answer's text at which the last attempt begins.
    pub attempt_offset: Option<i64>,
    /// Step number of the last attempt's first model call.
    pub attempt_step: Option<i32>,
    pub end_offset: Option<i64>,
    /// Step number of the first model call after this plan step.
    pub end_step: Option<i32>,
}

impl StepRow {
    fn step(&self) -> PlanStep {
        PlanStep {
            step_id: self.id,
            revision: self.revision,
            instruction: self.instruction.clone(),
            expected: self.expected.clone(),
            status: self.status,
            attempt: self.attempt,
            reason: self.reason.clone(),
            offset: self.text_offset,
            calls_before: self.calls_before,
            end_offset: self.end_offset,
        }
    }
}

/// Returns the plan of these steps, which must be all steps of one plan, in order. Returns `None` if there are none.
pub(crate) fn plan_of(rows: &[StepRow]) -> Option<Plan> {
    let first = rows.first()?;
    Some(Plan {
        plan_id: first.plan_id,
        offset: first.plan_offset,
        revision: first.plan_revision,
        reason: first.plan_reason.clone(),
        success_criteria: first.success_criteria.clone(),
        steps: rows.iter().map(StepRow::step).collect(),
    })
}

/// Stores a plan. If the answer has a plan already, replaces the steps that were not begun. Returns the resulting plan.
pub(crate) async fn store(
    tx: &mut Transaction,
    message_id: MessageId,
    new: &NewPlan,
    text_offset: i64,
) -> sqlx::Result<Plan> {
    let NewPlan { reason, success_criteria, .. } = new;
    let found: Option<(PlanId, i32, i64)> = tx
        .query("SELECT id, revision, text_offset FROM plans WHERE message_id = ?")
        .bind(message_id)
        .fetch_optional()
        .await?;
    let (plan_id, revision, offset) = if let Some((id, revision, offset)) = found {
        let update = tx
            .query("UPDATE plans SET revision = ?, reason = ?, success_criteria = ? WHERE id = ?")
            .bind(revision + 1)
            .bind(reason)
            .bind(success_criteria);
        update.bind(id).execute().await?;
        tx.query("DELETE FROM plan_steps WHERE plan_id = ? AND status = 'pending'").bind(id).execute().await?;
        (id, revision + 1, offset)
    } else {
        let plan =
            Plan { offset: text_offset, revision: 1, success_criteria: success_criteria.clone(), ..Plan::default() };
        (create_plan(tx, message_id, &plan, now()).await?, plan.revision, text_offset)
    };
    let steps: Vec<PlanStep> = new
        .steps
        .iter()
        .map(|step| PlanStep {
            revision,
            instruction: step.instruction.clone(),
            expected: step.expected.clone(),
            ..PlanStep::default()
        })
        .collect();
    create_steps(tx, plan_id, &steps).await?;
    let rows: Vec<StepRow> =
        tx.query(select_steps!("= ? ORDER BY s.revision, s.position")).bind(message_id).fetch_all().await?;
    let steps = rows.iter().map(StepRow::step).collect();
    let (reason, success_criteria) = (reason.clone(), success_criteria.clone());
    Ok(Plan { plan_id, offset, revision, reason, success_criteria, steps })
}

/// Stores a plan without its steps, and returns its ID.
async fn create_plan(
    tx: &mut Transaction,
    message_id: MessageId,
    plan: &Plan,
    created_at: DateTime<Utc>,
) -> sqlx::Result<PlanId> {
    let create = tx
        .query(
            "INSERT INTO plans (message_id, revision, reason, success_criteria, text_offset, created_at) \
             VALUES (?, ?, ?, ?, ?, ?)",
        )
        .bind(message_id)
        .bind(plan.revision)
        .bind(&plan.reason)
        .bind(&plan.success_criteria);
    Ok(PlanId(create.bind(plan.offset).bind(created_at).execute().await?.inserted_id))
}

/// Stores steps of a plan, in order.
async fn create_steps(tx: &mut Transaction, plan_id: PlanId, steps: &[PlanStep]) -> sqlx::Result<()> {
    let steps: Vec<(i32, &PlanStep)> = (0..).zip(steps).collect();
    tx.insert_rows(
        "INSERT INTO plan_steps (plan_id, revision, position, instruction, expected, status, attempt, reason, \
         text_offset, calls_before, end_offset) VALUES ",
        &steps,
        |(_, step)| step.instruction.len() + step.expected.len(),
        |row, (position, step)| {
            row.push(plan_id).push(step.revision).push(*position).push(&step.instruction).push(&step.expected);
            row.push(step.status.as_str()).push(step.attempt).push(&step.reason).push(step.offset);
            row.push(step.calls_before).push(step.end_offset);
        },
    )
    .await
}

/// Stores a copy of a plan. A step that was running in an answer that ended early becomes pending.
pub(crate) async fn create_copy(
    tx: &mut Transaction,
    message_id: MessageId,
    plan: &Plan,
    created_at: DateTime<Utc>,
) -> sqlx::Result<()> {
    let mut steps = plan.steps.clone();
    for step in &mut steps {
        if matches!(step.status, PlanStepStatus::Executing | PlanStepStatus::Unknown) {
            step.status = PlanStepStatus::Pending;
        }
    }
    let plan_id = create_plan(tx, message_id, plan, created_at).await?;
    create_steps(tx, plan_id, &steps).await
}

/// Stores a change of a plan step. `offset` and `calls_before` are the length of the answer's text, in bytes, and the
/// number of its tool calls at that moment.
pub(crate) async fn change_step(
    tx: &mut Transaction,
    change: &PlanStepChange,
    offset: i64,
    calls_before: i64,
) -> sqlx::Result<()> {
    let change = if change.status == PlanStepStatus::Executing {
        let begin = tx
            .query(
                "UPDATE plan_steps SET status = 'executing', attempt = ?, reason = ?, text_offset = \
                 COALESCE(text_offset, ?), calls_before = COALESCE(calls_before, ?), attempt_offset = ?, \
                 attempt_step = ?, started_at = COALESCE(started_at, ?) WHERE id = ?",
            )
            .bind(change.attempt)
            .bind(&change.reason)
            .bind(offset);
        begin.bind(calls_before).bind(offset).bind(change.next_step).bind(now()).bind(change.step_id)
    } else {
        let end = tx
            .query(
                "UPDATE plan_steps SET status = ?, reason = ?, end_offset = ?, end_step = ?, ended_at = ? \
                 WHERE id = ?",
            )
            .bind(change.status.as_str())
            .bind(&change.reason)
            .bind(offset);
        end.bind(change.next_step).bind(now()).bind(change.step_id)
    };
    change.execute().await.map(|_| ())
}

/// Lists the steps of a turn's plan, in order. The list is empty if the turn has no plan.
pub(crate) async fn list_steps(db: &Database, message_id: MessageId) -> sqlx::Result<Vec<StepRow>> {
    db.reader().list_by_ids(select!(LIST), &[message_id], LIST_ORDER).await
}

/// Returns the plan of a turn, or `None` if it has none.
pub(crate) async fn find_of_turn(db: &Database, message_id: MessageId) -> sqlx::Result<Option<Plan>> {
    Ok(plan_of(&list_steps(db, message_id).await?))
}

/// Returns the plans of the turns `message_ids`, which must be sorted.
pub(crate) async fn list(db: &Database, message_ids: &[MessageId]) -> sqlx::Result<HashMap<MessageId, Plan>> {
    let rows: Vec<StepRow> = db.reader().list_by_ids(select!(LIST), message_ids, LIST_ORDER).await?;
    let of_turns = rows.chunk_by(|a, b| a.message_id == b.message_id);
    Ok(of_turns.filter_map(|rows| Some((rows.first()?.message_id, plan_of(rows)?))).collect())
}
