//! Applies plan events to a transcript. `layout` assigns the parts of the answer to the steps.

use std::sync::Arc;

use tallybook_protocol::{Plan, PlanStep, PlanStepChanged};

use super::Transcript;

/// Applies a plan. Steps whose known state is later keep that state.
pub(super) fn planned(transcript: &mut Transcript, plan: Plan) {
    if let Some(entry) = transcript.streaming_target() {
        entry.plan = merged(entry.plan.take(), Some(plan));
    }
}

/// Applies a change of a step. Writes only if something changes, because writing copies the entry.
pub(super) fn step_changed(transcript: &mut Transcript, changed: &PlanStepChanged) {
    let held = transcript.target.and_then(|id| transcript.find(id)).and_then(|entry| entry.plan.as_ref());
    let Some(mut plan) = held.map(|plan| Plan::clone(plan)) else { return };
    plan.apply(changed);
    if held.is_some_and(|held| **held != plan)
        && let Some(entry) = transcript.streaming_target()
    {
        entry.plan = Some(Arc::new(plan));
    }
}

/// Merges two states of a plan that arrived in any order: the newer revision, with the later state of each step.
pub(super) fn merged(held: Option<Arc<Plan>>, received: Option<Plan>) -> Option<Arc<Plan>> {
    let Some(mut received) = received else { return held };
    let Some(held) = held.filter(|held| held.plan_id == received.plan_id) else { return Some(Arc::new(received)) };
    if held.revision > received.revision {
        return Some(held);
    }
    let stage = |step: &PlanStep| (step.attempt, step.end_offset.is_some());
    for step in &mut received.steps {
        let known = held.steps.iter().find(|known| known.step_id == step.step_id);
        if let Some(known) = known.filter(|known| stage(known) > stage(step)) {
            step.clone_from(known);
        }
    }
    Some(Arc::new(received))
}
