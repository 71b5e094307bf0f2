//! How it stands with a step of a plan, as a reader sees it: by the step and by the answer that it is a part of.

use tallybook_protocol::{MessageStatus, PlanStep, PlanStepStatus};

/// How it stands with a step, as a reader sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepState {
    /// It waits for those before it.
    Waiting,
    /// It is worked on.
    Working,
    /// One of its calls waits for a decision.
    Awaiting,
    /// The answer ended while it was worked on.
    Stopped,
    /// The answer ended before it was begun.
    Skipped,
    /// It gave what it should.
    Done,
    /// It did not.
    Failed,
}

impl StepState {
    /// How it stands with a step of an answer that stands like this.
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

    /// Its name on the page.
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
