//! Plans of answers in plan mode, step by step, and the events that report them. The text and calls of a step are in
//! the answer like all others. The plan records where each step begins and ends in the answer.

use serde::{Deserialize, Serialize};

use crate::{PlanId, PlanStepId};

/// Status of a step of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlanStepStatus {
    /// The step waits for the steps before it.
    #[default]
    Pending,
    /// The model is working on the step.
    Executing,
    /// The step's result was accepted.
    Completed,
    /// The step's result was not accepted, and the attempts are used up.
    Failed,
    /// A status that this version does not know.
    #[serde(other)]
    Unknown,
}

impl PlanStepStatus {
    const ALL: [Self; 4] = [Self::Pending, Self::Executing, Self::Completed, Self::Failed];

    /// Returns the name on the wire and in the database.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Executing => "executing",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

impl From<String> for PlanStepStatus {
    /// Converts a name; a name that this version does not know becomes [`PlanStepStatus::Unknown`].
    fn from(word: String) -> Self {
        Self::ALL.into_iter().find(|status| status.as_str() == word).unwrap_or(Self::Unknown)
    }
}

/// The current state of a plan, in the event `plan` and in [`crate::Message::plan`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Plan {
    /// Row id of the plan.
    pub plan_id: PlanId,
    /// Position of the plan in the answer's text, in UTF-8 bytes.
    pub offset: i64,
    /// Number of the revision, from 1. It grows by 1 each time the plan is revised.
    pub revision: i32,
    /// Reason for the last revision; absent in the first revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Condition that must hold when the plan is done.
    pub success_criteria: String,
    /// The steps that were worked on, of all revisions, then the pending steps of the newest revision.
    pub steps: Vec<PlanStep>,
}

/// One step of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlanStep {
    /// Row id of the step.
    pub step_id: PlanStepId,
    /// The revision of the plan that added the step.
    pub revision: i32,
    /// The task of the step.
    pub instruction: String,
    /// The expected result.
    pub expected: String,
    /// Status of the step.
    pub status: PlanStepStatus,
    /// Number of the current or last attempt, from 1; 0 before the first.
    #[serde(default)]
    pub attempt: i32,
    /// Reason for the verdict on the last attempt; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Position in the answer's text at which the first attempt begins, in UTF-8 bytes; absent before that attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    /// Number of the answer's tool calls before the first attempt; absent before that attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_before: Option<i64>,
    /// Position in the answer's text at which the last attempt ends, in UTF-8 bytes; absent until the step has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_offset: Option<i64>,
}

/// A step of the plan starts, is retried, or has ended: event `plan_step`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlanStepChanged {
    /// Row id of the plan.
    pub plan_id: PlanId,
    /// Row id of the step.
    pub step_id: PlanStepId,
    /// New status of the step.
    pub status: PlanStepStatus,
    /// Number of the attempt, from 1.
    pub attempt: i32,
    /// Reason for the verdict on the attempt, or for another attempt; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Length of the answer's text at this point, in UTF-8 bytes.
    pub offset: i64,
    /// Number of the answer's tool calls at this point.
    #[serde(default)]
    pub calls_before: i64,
}

impl Plan {
    /// Applies a change of a step of this plan. A change that was applied before has no effect. Changes of another
    /// plan, and of an attempt before the current one, are ignored.
    pub fn apply(&mut self, changed: &PlanStepChanged) {
        let step = self.steps.iter_mut().find(|step| step.step_id == changed.step_id);
        let Some(step) = step.filter(|step| self.plan_id == changed.plan_id && step.attempt <= changed.attempt) else {
            return;
        };
        let ended = |status| matches!(status, PlanStepStatus::Completed | PlanStepStatus::Failed);
        if step.attempt == changed.attempt && ended(step.status) {
            return;
        }
        step.status = changed.status;
        step.attempt = changed.attempt;
        step.reason.clone_from(&changed.reason);
        step.offset.get_or_insert(changed.offset);
        step.calls_before.get_or_insert(changed.calls_before);
        step.end_offset = ended(changed.status).then_some(changed.offset);
    }
}

#[cfg(test)]
mod tests {
    use super::{Plan, PlanStep, PlanStepChanged, PlanStepStatus};
    use crate::{PlanId, PlanStepId};

    fn changed(status: PlanStepStatus, attempt: i32, offset: i64) -> PlanStepChanged {
        let (plan_id, step_id) = (PlanId(1), PlanStepId(7));
        PlanStepChanged { plan_id, step_id, status, attempt, reason: None, offset, calls_before: offset / 10 }
    }

    #[test]
    fn a_step_keeps_its_beginning_and_repeated_events_have_no_effect() {
        let step = PlanStep { step_id: PlanStepId(7), revision: 1, ..PlanStep::default() };
        let mut plan = Plan { plan_id: PlanId(1), revision: 1, steps: vec![step], ..Plan::default() };
        let story = [
            changed(PlanStepStatus::Executing, 1, 10),
            changed(PlanStepStatus::Executing, 2, 30),
            changed(PlanStepStatus::Completed, 2, 50),
        ];
        for event in &story {
            plan.apply(event);
        }
        let applied = plan.clone();
        for event in &story {
            plan.apply(event);
        }
        assert_eq!(plan, applied);
        let step = &plan.steps[0];
        assert_eq!((step.offset, step.calls_before, step.end_offset), (Some(10), Some(1), Some(50)));
        assert_eq!((step.status, step.attempt), (PlanStepStatus::Completed, 2));
    }
}
