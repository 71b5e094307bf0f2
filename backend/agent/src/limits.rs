//! Every limit of the agent: those that a server may set, and those that follow from what the tables can hold.

use std::time::Duration;

/// The longest arguments that are kept of a call, as much as a tool takes. Of longer ones the row, the events and the
/// model's history hold the beginning and a note, which is again longer than a tool takes: such a call fails, and never
/// runs with half of its arguments.
pub(super) const MAX_INPUT_BYTES: usize = tallybook_tools::MAX_INPUT_BYTES;
/// How much of a tool's name is kept; as much as its column holds. No tool has a longer one, so a call under it fails
/// either way.
pub(super) const MAX_TOOL_NAME_CHARS: usize = 100;
/// How much of a failed call's error is kept. The column is TEXT, 64 KiB on MySQL, and a note comes on top.
pub(super) const MAX_ERROR_BYTES: usize = 60_000;
/// How much of the word for the kind of failure is kept; as much as its column holds.
pub(super) const MAX_ERROR_TYPE_CHARS: usize = 64;
/// How much the model is shown of arguments that a person changed.
pub(super) const MAX_EDITED_INPUT_BYTES: usize = 4 * 1024;
/// The least that the model is shown of each result, however many there are in a step.
pub(super) const MIN_RESULT_BYTES: usize = 1024;

/// How long tools have to react when they are aborted: at once, unless they hold their thread.
pub(super) const CANCEL_TIMEOUT: Duration = Duration::from_millis(500);

/// How long a model may take for a title.
pub(super) const TITLE_TIMEOUT: Duration = Duration::from_secs(15);
/// Bytes of the question, and of the answer, that the model is shown for a title.
pub(super) const MAX_TITLE_INPUT_BYTES: usize = 2000;
/// Bytes that the model may write for a title. It needs few, but some models think aloud first.
pub(super) const MAX_TITLE_ANSWER_BYTES: usize = 8 * 1024;

/// How long a model may take for a summary of a conversation.
pub(super) const SUMMARY_TIMEOUT: Duration = Duration::from_secs(30);
/// Characters of a question, and of its answer, that the model is told for it.
pub(super) const MAX_SUMMED_QUESTION_CHARS: usize = 1000;
pub(super) const MAX_SUMMED_ANSWER_CHARS: usize = 2000;
/// Tokens, and bytes, that it may write.
pub(super) const MAX_SUMMARY_TOKENS: u32 = 500;
pub(super) const MAX_SUMMARY_ANSWER_BYTES: usize = 16 * 1024;

/// How long a model may take to sum up what was done for an answer.
pub(super) const REASONING_TIMEOUT: Duration = Duration::from_secs(15);
/// Bytes of the question, and of the answer, that it is told for that.
pub(super) const MAX_REASONING_TEXT_BYTES: usize = 4 * 1024;
/// Bytes that it may write for that; and characters of a line that are kept.
pub(super) const MAX_REASONING_ANSWER_BYTES: usize = 16 * 1024;
pub(super) const MAX_REASONING_LINE_CHARS: usize = 200;

/// Steps of a plan as it is made.
pub(super) const MAX_PLAN_STEPS: usize = 5;
/// Characters of what a step's instruction, what it should give, and what the whole must come to have at most. With the steps of
/// all attempts that is far less than a page takes at once.
pub(super) const MAX_INSTRUCTION_CHARS: usize = 500;
pub(super) const MAX_EXPECTED_CHARS: usize = 300;
pub(super) const MAX_CRITERIA_CHARS: usize = 500;
/// How long a model may take for a plan, and for whether a step was done.
pub(super) const PLAN_TIMEOUT: Duration = Duration::from_mins(1);
pub(super) const EVALUATE_TIMEOUT: Duration = Duration::from_secs(30);
/// Bytes that it may write for either. It needs few, but some models think aloud first.
pub(super) const MAX_PLAN_ANSWER_BYTES: usize = 32 * 1024;
/// Bytes of the question, and of what was said before it, that it is told.
pub(super) const MAX_PLANNED_QUESTION_BYTES: usize = 16 * 1024;
pub(super) const MAX_PLANNED_EARLIER_BYTES: usize = 16 * 1024;
/// Bytes of one text of that.
pub(super) const MAX_PLANNED_TEXT_BYTES: usize = 4 * 1024;
/// Bytes that what came of all steps together tells a model, shared out evenly, and the least of each.
pub(super) const MAX_PLAN_RESULTS_BYTES: usize = 32 * 1024;
pub(super) const MIN_PLAN_RESULT_BYTES: usize = 1024;
/// A step that says more than so many characters is taken for done.
pub(super) const ENOUGH_CHARS: usize = 50;

/// Calls of one step that are reviewed; a person decides on the others alone. Each has up to so many votes
/// ([`MAX_REVIEWERS`]), which stand in the turn's end: with a turn's steps and the longest reasons that is less than 1 MiB of
/// the 16 that readers take.
pub const MAX_REVIEWED_CALLS: usize = 8;
/// Models that may review.
pub const MAX_REVIEWERS: usize = 5;
/// Votes of one step that are asked for at the same time.
pub(super) const MAX_VOTES_AT_ONCE: usize = 10;
/// Bytes of the person's request that a reviewer is told.
pub(super) const MAX_REVIEWED_REQUEST_BYTES: usize = 16 * 1024;
/// The longest arguments that are reviewed. Who is told a part of them cannot say whether the whole is harmless.
pub(super) const MAX_REVIEWED_INPUT_BYTES: usize = 64 * 1024;
/// Bytes that a reviewer may write. It needs few, but some models think aloud first.
pub(super) const MAX_REVIEW_ANSWER_BYTES: usize = 16 * 1024;
/// Characters of a reviewer's reason that are kept.
pub const MAX_REASON_CHARS: usize = 300;

/// What a turn may use up.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Steps that may call tools; one more answers without.
    pub steps: u32,
    /// Calls of one turn, after which one more step answers without. One step may go beyond it by as many as an answer may
    /// hold ([`tallybook_llm::MAX_BLOCKS`]); the turn's end, which names every call, is one event that readers take.
    pub calls: usize,
    /// The whole turn, calls that wait for their start included. While it waits for consent no time of it passes.
    pub turn_time: Duration,
    /// One tool call, from when its tool has room for it.
    pub tool_time: Duration,
    /// Calls of one turn that run at the same time; the others of a step wait.
    pub concurrent_calls_per_turn: usize,
    /// Calls of all turns that run at the same time, in the whole process.
    pub concurrent_calls: usize,
    /// Bytes of a tool's output that are kept.
    pub stored_output_bytes: usize,
    /// Bytes of one output or error that the model is shown.
    pub model_output_bytes: usize,
    /// Bytes that stored steps may add to what a program tells of earlier turns.
    pub restored_bytes: usize,
    /// Bytes that all results of one step together tell the model, shared out evenly.
    pub step_output_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 10,
            calls: 2000,
            turn_time: Duration::from_mins(5),
            tool_time: Duration::from_secs(30),
            concurrent_calls_per_turn: 16,
            concurrent_calls: 256,
            stored_output_bytes: 1024 * 1024,
            model_output_bytes: 64 * 1024,
            step_output_bytes: 512 * 1024,
            restored_bytes: 512 * 1024,
        }
    }
}

impl Limits {
    /// Bytes of each result that the model is shown when a step has this many calls.
    pub fn result_bytes(&self, calls: usize) -> usize {
        let share = self.step_output_bytes / calls.max(1);
        self.model_output_bytes.min(share.max(MIN_RESULT_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::Limits;

    #[test]
    fn so_many_calls_run_at_the_same_time() {
        let Limits { concurrent_calls_per_turn, concurrent_calls, .. } = Limits::default();
        assert_eq!((concurrent_calls_per_turn, concurrent_calls), (16, 256));
    }

    #[test]
    fn the_results_of_a_step_share_what_it_may_tell() {
        let limits = Limits::default();
        let shares = [0, 1, 8, 9, 64, 512, 1000, usize::MAX].map(|calls| limits.result_bytes(calls));
        assert_eq!(shares, [65536, 65536, 65536, 58254, 8192, 1024, 1024, 1024]);
        let small = Limits { model_output_bytes: 100, ..limits };
        assert_eq!(small.result_bytes(1000), 100);
    }
}
