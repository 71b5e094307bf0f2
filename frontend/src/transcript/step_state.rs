//! The state of a plan step for display, derived from the status of the step and of its answer.

use tallybook_protocol::{MessageStatus, PlanStep, PlanStepStatus};

/// The state of a plan step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepState {
    /// It waits for the steps before it.
    Waiting,
    /// It is running.
    Working,
    /// One of its calls waits for a decision.
    Awaiting,
    /// The answer ended while it was running.
    Stopped,
    /// The answer ended before it started.
    Skipped,
    /// It succeeded.
    Done,
    /// It failed.
    Failed,
}

impl StepState {
    /// Returns the state of a step of an answer with the status `answer`.
    pub fn of(step: &PlanStep, answer: MessageStatus) -> Self {
        match (step.status, answer) {
            (PlanStepStatus::Completed, _) => Self::Done,
            (PlanStepStatus::Failed, _) => Self::Failed,
            (PlanStepStatus::Pending, MessageStatus::Streaming | MessageStatus::AwaitingApproval) => Self::Waiting,
            (PlanStepStatus::Pending | PlanStepStatus::Unknown, _) => Self::Skipped,
            (PlanStepStatus::Executing, MessageStatus::Streaming) => Self::Working,
            (PlanStepStatus::Executing, MessageStatus::AwaitingApproval) => Self::Awaiting,
            (PlanStepStatus::Executing, _) => Self::Stopped,
        }
    }

    /// Returns its name in the page's HTML.
    pub fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Working => "working",
            Self::Awaiting => "awaiting",
            Self::Stopped => "stopped",
            Self::Skipped => "skipped",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}
