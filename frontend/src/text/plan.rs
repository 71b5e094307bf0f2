//! What is said of plans: that one is wanted, and how it stands with its steps.

use crate::{language::Language, transcript::StepState};

texts! {
    plan_texts;

    plan: "Plan", "計画";
    plan_first: "Plan first", "計画を立てる";
    plan_first_about:
        "Answers the next message by a plan: step by step, for what takes several steps. This costs more than an answer without a plan.",
        "次のメッセージに、先に計画を立ててからステップごとに回答します。複数のステップが必要な作業向けで、計画なしの回答より費用がかかります。";
    plan_lacking: "No plan could be made, so this was answered without one.", "計画を立てられなかったため、計画なしで回答しました。";
    plan_done_when: "Done when", "完了の条件";
    plan_expected: "Should give", "期待する結果";
    plan_judged: "Judged", "評価";
    plan_anew: "Planned anew", "計画を立て直しました";
    step_waiting: "waiting", "待機中";
    step_working: "working", "作業中";
    step_awaiting: "waits for your decision", "承認待ち";
    step_stopped: "stopped", "中止";
    step_skipped: "not begun", "未着手";
    step_done: "done", "完了";
    step_failed: "failed", "失敗";
}

impl Language {
    /// How many steps of a plan are done.
    pub(crate) fn steps_done(self, done: usize, all: usize) -> String {
        match self {
            Self::English if all == 1 => format!("{done} of 1 step done"),
            Self::English => format!("{done} of {all} steps done"),
            Self::Japanese => format!("{all}ステップ中{done}ステップ完了"),
        }
    }

    /// How it stands with a step.
    pub(crate) const fn step_state(self, state: StepState) -> &'static str {
        match state {
            StepState::Waiting => self.step_waiting(),
            StepState::Working => self.step_working(),
            StepState::Awaiting => self.step_awaiting(),
            StepState::Stopped => self.step_stopped(),
            StepState::Skipped => self.step_skipped(),
            StepState::Done => self.step_done(),
            StepState::Failed => self.step_failed(),
        }
    }

    /// Which attempt at a step it is.
    pub(crate) fn attempt(self, attempt: i32) -> String {
        match self {
            Self::English => format!("attempt {attempt}"),
            Self::Japanese => format!("{attempt}回目"),
        }
    }

    /// Why a step is tried again.
    pub(crate) fn tried_again(self, reason: &str) -> String {
        match self {
            Self::English => format!("Tried again: {reason}"),
            Self::Japanese => format!("再試行の理由: {reason}"),
        }
    }

    /// Tells of the step that is worked on, to who does not see it.
    pub(crate) fn step_begins(self, number: usize, instruction: &str) -> String {
        match self {
            Self::English => format!("Step {number}: {instruction}"),
            Self::Japanese => format!("ステップ{number}: {instruction}"),
        }
    }
}
