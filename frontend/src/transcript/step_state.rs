//! The state of a plan step as the user sees it, which depends on the step and on its answer.

use tallybook_protocol::{MessageStatus, PlanStep, PlanStepStatus};

/// The state of a step as the user sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepState {
    /// The steps before it are not done.
    Waiting,
    /// It runs.
    Working,
    /// One of its calls waits for approval.
    Awaiting,
    /// The answer ended while it ran.
    Stopped,
    /// The answer ended before it started.
    Skipped,
    /// It has the expected result.
    Done,
    /// It does not have the expected result.
    Failed,
}

impl StepState {
    /// Returns the state of a step of an answer with this status.
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

    /// Returns the name of the state in class names.
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
