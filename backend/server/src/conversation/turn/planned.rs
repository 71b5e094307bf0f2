//! Answers that are made by a plan: storing it as it is made and worked on, and where it goes on that was cut off or waited.

use std::collections::HashMap;
use tallybook_database::Database;

use tallybook_agent::{ContinuedPlan, NewPlan, PlanStepChange};
use tallybook_protocol::{ChatEvent, MessageId, Plan, PlanStepChanged, PlanStepStatus};

use super::{
    super::store::plans::{self, StepRow, plan_of},
    writer::{TurnWriter, wire_offset},
};
use crate::journal::stored::EncodedEvent;

/// Stores a plan with the event that tells of it; nothing where the turn is no longer this process's own.
pub(super) async fn store_plan(writer: &TurnWriter, new: &NewPlan) -> sqlx::Result<Option<Plan>> {
    let Some(mut write) = writer.begin().await? else { return Ok(None) };
    let (message_id, offset) = (writer.rows().assistant_message_id, wire_offset(writer.log().text_bytes()));
    let plan = plans::store(&mut write.tx, message_id, new, offset).await?;
    let event = EncodedEvent::of(&ChatEvent::Plan(plan.clone()))?;
    writer.create_next_event(&mut write.tx, &event).await?;
    write.commit().await?;
    Ok(Some(plan))
}

/// Stores how a step changed with the event that tells of it; nothing where the turn is no longer this process's own.
pub(super) async fn store_change(
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
    writer.create_next_event(&mut write.tx, &event).await?;
    write.commit().await?;
    Ok(Some(changed))
}

/// Where a turn goes on that has a plan.
pub(super) struct PlanPlace {
    pub(super) continued: ContinuedPlan,
    /// The number of the first model call of the step that is worked on; or of those after the last one.
    pub(super) from_step: i32,
}

/// Where the turn goes on whose answer is `content` as yet; nothing where it has no plan.
pub(super) async fn find_place(db: &Database, message_id: MessageId, content: &str) -> sqlx::Result<Option<PlanPlace>> {
    let steps = plans::list_steps(db, message_id).await?;
    let Some(plan) = plan_of(&steps) else { return Ok(None) };
    let executing = steps.iter().find(|step| step.status == PlanStepStatus::Executing);
    let last_end = steps.iter().filter_map(|step| step.end_step).max().unwrap_or(0);
    let from_step = executing.map_or(last_end, |step| step.attempt_step.unwrap_or(0));
    let results = steps.iter().filter_map(|step| Some((step.id, result_of(step, content)?)));
    let continued = ContinuedPlan { plan, results: results.collect::<HashMap<_, _>>() };
    Ok(Some(PlanPlace { continued, from_step }))
}

/// What the last attempt at a step wrote, where it has ended.
fn result_of(step: &StepRow, content: &str) -> Option<String> {
    let place = |offset: i64| content.floor_char_boundary(usize::try_from(offset).unwrap_or(0));
    let (from, to) = (place(step.attempt_offset?), place(step.end_offset?));
    Some(content.get(from..to).unwrap_or_default().trim().to_owned())
}
