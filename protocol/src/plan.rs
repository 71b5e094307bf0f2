//! Plans of answers in plan mode, step by step, and the events that report them. The text and calls of a step are in the answer
//! like all others. The plan records where each step begins and ends in the answer.

use serde::{Deserialize, Serialize};

use crate::{PlanId, PlanStepId};

/// How an answer is made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum AnswerMode {
    /// The model answers, and calls tools as it goes.
    #[default]
    React,
    /// A plan is made first, and then worked on step by step.
    Plan,
}

impl AnswerMode {
    /// Returns `true` for the mode that is used if none is given.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Where a step of a plan stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum PlanStepStatus {
    /// It waits for those before it.
    #[default]
    Pending,
    /// It is worked on.
    Executing,
    /// What it gave was judged good enough.
    Completed,
    /// It was not, and there is no further attempt.
    Failed,
    /// A status that this reader does not know yet.
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

/// A plan as it stands: event `plan`, and [`crate::Message::plan`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Plan {
    /// Row id.
    pub plan_id: PlanId,
    /// Where in the answer's text it stands, in UTF-8 bytes.
    pub offset: i64,
    /// From 1; one more each time it is planned anew.
    pub revision: i32,
    /// Why it was planned anew, the last time; absent in the first revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What must be true for the whole to be done.
    pub success_criteria: String,
    /// Those that were worked on, of all revisions, then those of the newest that are to come.
    pub steps: Vec<PlanStep>,
}

/// One step of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlanStep {
    /// Row id.
    pub step_id: PlanStepId,
    /// The revision of the plan that it came with.
    pub revision: i32,
    /// What is to be done.
    pub instruction: String,
    /// What it should give.
    pub expected: String,
    /// Where it stands.
    pub status: PlanStepStatus,
    /// Which attempt it is in, or was in last, from 1; 0 before the first.
    #[serde(default)]
    pub attempt: i32,
    /// Why the last attempt was judged as it was, where there is something to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Where in the answer's text its first attempt begins, in UTF-8 bytes; absent before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<i64>,
    /// How many of the answer's calls come before its first attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub calls_before: Option<i64>,
    /// Where in the answer's text its last attempt ends; absent while it is worked on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_offset: Option<i64>,
}

/// A step of the plan begins, is tried again, or has ended: event `plan_step`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlanStepChanged {
    /// The plan.
    pub plan_id: PlanId,
    /// The step.
    pub step_id: PlanStepId,
    /// Where it stands now.
    pub status: PlanStepStatus,
    /// Which attempt this is about, from 1.
    pub attempt: i32,
    /// Why the attempt was judged as it was, or why there is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How many UTF-8 bytes the answer has at this moment.
    pub offset: i64,
    /// How many calls the answer has at this moment.
    #[serde(default)]
    pub calls_before: i64,
}

impl Plan {
    /// Applies a change of a step of this plan. A change that was applied before has no effect. Changes of another plan, and of
    /// an attempt before the current one, are ignored.
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
    fn a_step_keeps_where_it_began_and_events_that_are_heard_again_change_nothing() {
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
        let told = plan.clone();
        for event in &story {
            plan.apply(event);
        }
        assert_eq!(plan, told);
        let step = &plan.steps[0];
        assert_eq!((step.offset, step.calls_before, step.end_offset), (Some(10), Some(1), Some(50)));
        assert_eq!((step.status, step.attempt), (PlanStepStatus::Completed, 2));
    }
}
