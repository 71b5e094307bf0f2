//! Texts about plans and their steps.

use crate::{language::Language, transcript::StepState};

texts! {
    plan_texts;

    plan: "Plan", "計画";
    plan_first: "Plan first", "先に計画を立てる";
    plan_first_about:
        "Makes a plan for the next message and answers it step by step. Use it for tasks with several steps. It costs more than an answer without a plan.",
        "次のメッセージには、先に計画を立ててから、ステップごとに回答します。手順の多い作業に向いています。通常の回答より費用がかかります。";
    plan_unavailable: "The model could not make a plan, so it answered without one.", "計画を作成できなかったため、計画なしで回答しました。";
    plan_done_when: "Done when", "完了の条件";
    plan_expected: "Expected result", "期待する結果";
    plan_evaluation: "Evaluation", "評価";
    plan_revised: "Plan revised", "計画を見直しました";
    step_waiting: "waiting", "待機中";
    step_working: "working", "作業中";
    step_awaiting: "needs your approval", "承認待ち";
    step_stopped: "stopped", "中止";
    step_not_started: "not started", "未着手";
    step_done: "done", "完了";
    step_failed: "failed", "失敗";
}

impl Language {
    /// Returns the number of completed steps of a plan.
    pub(crate) fn steps_done(self, done: usize, all: usize) -> String {
        match self {
            Self::English if all == 1 => format!("{done} of 1 step done"),
            Self::English => format!("{done} of {all} steps done"),
            Self::Japanese => format!("{all}ステップ中{done}ステップ完了"),
        }
    }

    /// Returns the label of a step's state.
    pub(crate) const fn step_state(self, state: StepState) -> &'static str {
        match state {
            StepState::Waiting => self.step_waiting(),
            StepState::Working => self.step_working(),
            StepState::Awaiting => self.step_awaiting(),
            StepState::Stopped => self.step_stopped(),
            StepState::Skipped => self.step_not_started(),
            StepState::Done => self.step_done(),
            StepState::Failed => self.step_failed(),
        }
    }

    /// Returns the number of the current attempt at a step, counted from 1.
    pub(crate) fn attempt(self, attempt: i32) -> String {
        match self {
            Self::English => format!("attempt {attempt}"),
            Self::Japanese => format!("{attempt}回目"),
        }
    }

    /// Returns the reason why a step is retried.
    pub(crate) fn retry_reason(self, reason: &str) -> String {
        match self {
            Self::English => format!("Reason for retry: {reason}"),
            Self::Japanese => format!("再試行の理由: {reason}"),
        }
    }

    /// Announces the current step to screen readers.
    pub(crate) fn step_announcement(self, number: usize, instruction: &str) -> String {
        match self {
            Self::English => format!("Step {number}: {instruction}"),
            Self::Japanese => format!("ステップ{number}: {instruction}"),
        }
    }
}
