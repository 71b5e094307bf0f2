//! Plans of answers: stores a plan and the changes of its steps, and finds the place from which a planned turn resumes.

use std::collections::HashMap;

use tallybook_agent::{ContinuedPlan, NewPlan, PlanStepChange};
use tallybook_database::Database;
use tallybook_protocol::{ChatEvent, MessageId, Plan, PlanStepChanged, PlanStepStatus};

use crate::journal::stored::EncodedEvent;
use crate::{
    store::plans::{self, StepRow, plan_of},
    turn::recorder::writer::{TurnWriter, wire_offset},
};

/// Stores a plan together with its event. Returns `None` if the turn no longer belongs to this process.
pub(crate) async fn store_plan(writer: &TurnWriter, new: &NewPlan) -> sqlx::Result<Option<Plan>> {
    let Some(mut write) = writer.begin().await? else { return Ok(None) };
    let (message_id, offset) = (writer.rows().assistant_message_id, wire_offset(writer.log().text_bytes()));
    let plan = plans::store(&mut write.tx, message_id, new, offset).await?;
    let event = EncodedEvent::of(&ChatEvent::Plan(plan.clone()))?;
    write.commit(&[event]).await?;
    Ok(Some(plan))
}

/// Stores the change of a plan step together with its event. Returns `None` if the turn no longer belongs to this
/// process.
pub(crate) async fn store_change(
    writer: &TurnWriter,
    change: &PlanStepChange,
) -> sqlx::Result<Option<PlanStepChanged>> {
    let Some(mut write) = writer.begin().await? else { return Ok(None) };
    let log = writer.log();
    let (offset, calls_before) = (wire_offset(log.text_bytes()), wire_offset(log.count_calls()));
    plans::change_step(&mut write.tx, change, offset, calls_before).await?;
    let PlanStepChange { plan_id, step_id, status, attempt, ref reason, .. } = *change;
    let changed = PlanStepChanged { plan_id, step_id, status, attempt, reason: reason.clone(), offset, calls_before };
    let event = EncodedEvent::of(&ChatEvent::PlanStep(changed.clone()))?;
    write.commit(&[event]).await?;
    Ok(Some(changed))
}

/// The place in its plan from which a turn resumes.
pub(crate) struct PlanCursor {
    pub(crate) continued: ContinuedPlan,
    /// Number of the first model call of the current attempt at the step in progress. If no step is in progress: number
    /// of the first model call after the last step that ended.
    pub(crate) from_step: i32,
}

/// Finds the place from which a planned turn resumes. `content` is the turn's text so far. Returns `None` if the turn
/// has no plan.
pub(crate) async fn find_place(
    db: &Database,
    message_id: MessageId,
    content: &str,
) -> sqlx::Result<Option<PlanCursor>> {
    let steps = plans::list_steps(db, message_id).await?;
    let Some(plan) = plan_of(&steps) else { return Ok(None) };
    let executing = steps.iter().find(|step| step.status == PlanStepStatus::Executing);
    let last_end = steps.iter().filter_map(|step| step.end_step).max().unwrap_or(0);
    let from_step = executing.map_or(last_end, |step| step.attempt_step.unwrap_or(0));
    let results = steps.iter().filter_map(|step| Some((step.id, result_of(step, content)?)));
    let continued = ContinuedPlan { plan, results: results.collect::<HashMap<_, _>>() };
    Ok(Some(PlanCursor { continued, from_step }))
}

/// Returns the text that the last attempt at a step wrote. Returns `None` if the step has not ended.
fn result_of(step: &StepRow, content: &str) -> Option<String> {
    let place = |offset: i64| content.floor_char_boundary(usize::try_from(offset).unwrap_or(0));
    let (from, to) = (place(step.attempt_offset?), place(step.end_offset?));
    Some(content.get(from..to).unwrap_or_default().trim().to_owned())
}
