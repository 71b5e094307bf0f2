//! All limits of the agent: those that the operator can set, those that follow from database columns, and fixed ones.

use std::time::Duration;

/// Maximum length of a call's stored arguments, in bytes: the maximum that a tool accepts. If they are longer, the row,
/// the events and the model's history contain their beginning and a note. That text is still longer than a tool
/// accepts, so the call fails and never runs with half of its arguments.
pub(crate) const MAX_INPUT_BYTES: usize = tallybook_tools::MAX_INPUT_BYTES;
/// Maximum length of a stored tool name, in characters: the width of its column. No tool has a longer name, so a call
/// with a truncated name fails in any case.
pub(crate) const MAX_TOOL_NAME_CHARS: usize = 100;
/// Maximum length of a failed call's stored error, in bytes. The column is TEXT, 64 KiB on MySQL, and a note is
/// appended.
pub(crate) const MAX_ERROR_BYTES: usize = 60_000;
/// Maximum length of an error type, in characters: the width of its column.
pub(crate) const MAX_ERROR_TYPE_CHARS: usize = 64;
/// Maximum length, in bytes, of arguments edited by a user in the result for the model.
pub(crate) const MAX_EDITED_INPUT_BYTES: usize = 4 * 1024;
/// Minimum length of each result in the prompt, in bytes, however many results a step has.
const MIN_RESULT_BYTES: usize = 1024;

/// Grace period for aborted tools to stop. They stop at once unless they block their thread.
pub(crate) const CANCEL_TIMEOUT: Duration = Duration::from_millis(500);

/// Timeout of a model call for a title.
pub(crate) const TITLE_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum length of the question, and of the answer, in the prompt for a title, in bytes.
pub(crate) const MAX_TITLE_INPUT_BYTES: usize = 2000;
/// Maximum length of the model's answer for a title, in bytes. A title is short, but some models write their reasoning
/// first.
pub(crate) const MAX_TITLE_ANSWER_BYTES: usize = 8 * 1024;

/// Timeout of a model call for a summary of a conversation.
pub(crate) const SUMMARY_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum length of a question in the prompt for a summary, in characters.
pub(crate) const MAX_SUMMED_QUESTION_CHARS: usize = 1000;
/// Maximum length of an answer in the prompt for a summary, in characters.
pub(crate) const MAX_SUMMED_ANSWER_CHARS: usize = 2000;
/// Maximum length of the model's answer for a summary, in tokens.
pub(crate) const MAX_SUMMARY_TOKENS: u32 = 500;
/// Maximum length of the model's answer for a summary, in bytes.
pub(crate) const MAX_SUMMARY_ANSWER_BYTES: usize = 16 * 1024;

/// Timeout of a model call that summarizes how an answer was made.
pub(crate) const REASONING_TIMEOUT: Duration = Duration::from_secs(15);
/// Maximum length of the question, and of the answer, in the prompt for that summary, in bytes.
pub(crate) const MAX_REASONING_TEXT_BYTES: usize = 4 * 1024;
/// Maximum length of the model's answer for that summary, in bytes.
pub(crate) const MAX_REASONING_ANSWER_BYTES: usize = 16 * 1024;
/// Maximum length of a line of that summary, in characters.
pub(crate) const MAX_REASONING_LINE_CHARS: usize = 200;

/// Maximum number of steps that a model may put into one plan.
pub(crate) const MAX_PLAN_STEPS: usize = 5;
/// Maximum length of a step's instruction, in characters. Even with the steps of all attempts, a plan takes far less
/// than a client accepts at once.
pub(crate) const MAX_INSTRUCTION_CHARS: usize = 500;
/// Maximum length of a step's expected result, in characters.
pub(crate) const MAX_EXPECTED_CHARS: usize = 300;
/// Maximum length of a plan's success criteria, in characters.
pub(crate) const MAX_CRITERIA_CHARS: usize = 500;
/// Timeout of a model call for a plan.
pub(crate) const PLAN_TIMEOUT: Duration = Duration::from_mins(1);
/// Timeout of a model call for a verdict on a step.
pub(crate) const EVALUATE_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum length of the model's answer for a plan or a verdict, in bytes. The answer is short, but some models write
/// their reasoning first.
pub(crate) const MAX_PLAN_ANSWER_BYTES: usize = 32 * 1024;
/// Maximum length of the question in the prompt for a plan, in bytes.
pub(crate) const MAX_PLANNED_QUESTION_BYTES: usize = 16 * 1024;
/// Maximum length of all messages before the question in that prompt, in bytes.
pub(crate) const MAX_PLANNED_EARLIER_BYTES: usize = 16 * 1024;
/// Maximum length of one of those messages, in bytes.
pub(crate) const MAX_PLANNED_TEXT_BYTES: usize = 4 * 1024;
/// Maximum length of the results of all steps in a prompt, in bytes. The results share it evenly.
pub(crate) const MAX_PLAN_RESULTS_BYTES: usize = 32 * 1024;
/// Minimum length of each of these results, in bytes, however many there are.
pub(crate) const MIN_PLAN_RESULT_BYTES: usize = 1024;
/// A step whose text is longer than this number of characters counts as done without a model's verdict.
pub(crate) const ENOUGH_CHARS: usize = 50;

/// Maximum number of calls of one step that are reviewed; the user alone decides on the others. Each call has up to
/// [`MAX_REVIEWERS`] votes, which are part of the turn's final event. With a turn's steps and the longest reasons, the
/// votes take less than 1 MiB of the 16 MiB that clients accept.
pub const MAX_REVIEWED_CALLS: usize = 8;
/// Maximum number of models that review calls.
pub const MAX_REVIEWERS: usize = 5;
/// Maximum number of concurrent model calls for the votes of one step.
pub(crate) const MAX_VOTES_AT_ONCE: usize = 10;
/// Maximum length of the user's request in a reviewer's prompt, in bytes.
pub(crate) const MAX_REVIEWED_REQUEST_BYTES: usize = 16 * 1024;
/// Maximum length of arguments that are reviewed, in bytes. A model that receives only a part cannot judge whether all
/// of them are harmless.
pub(crate) const MAX_REVIEWED_INPUT_BYTES: usize = 64 * 1024;
/// Maximum length of a reviewer's answer, in bytes. The answer is short, but some models write their reasoning first.
pub(crate) const MAX_REVIEW_ANSWER_BYTES: usize = 16 * 1024;
/// Maximum length of a stored reason, in characters.
pub const MAX_REASON_CHARS: usize = 300;

/// Limits of turns and their tool calls.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum number of steps that may call tools; one more step answers without tools.
    pub steps: u32,
    /// Maximum number of calls in one turn; after that one more step answers without tools. One step may exceed the
    /// limit by as many calls as an answer may contain ([`tallybook_llm::MAX_BLOCKS`]). The turn's final event lists
    /// every call, and clients must accept it.
    pub calls: usize,
    /// Time limit of the whole turn, including calls that wait for their start. Waiting for approval does not count.
    pub turn_time: Duration,
    /// Timeout of one tool call, measured from the time when its tool has room for it.
    pub tool_time: Duration,
    /// Maximum number of concurrent calls of one turn; the other calls of a step wait.
    pub concurrent_calls_per_turn: usize,
    /// Maximum number of concurrent calls of all turns in the whole process.
    pub concurrent_calls: usize,
    /// Maximum length of a tool's stored output, in bytes.
    pub stored_output_bytes: usize,
    /// Maximum length of one output or error in the prompt, in bytes.
    pub model_output_bytes: usize,
    /// Maximum number of bytes that stored steps may add to the earlier turns in an API client's request.
    pub restored_bytes: usize,
    /// Maximum length of all results of one step in the prompt, in bytes. The results share it evenly.
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
    /// Returns the maximum length of each result in the prompt, in bytes, if a step has this many calls.
    pub fn result_bytes(&self, calls: usize) -> usize {
        let share = self.step_output_bytes / calls.max(1);
        self.model_output_bytes.min(share.max(MIN_RESULT_BYTES))
    }
}

#[cfg(test)]
mod tests {
    use super::Limits;

    #[test]
    fn the_default_limits_of_concurrent_calls() {
        let Limits { concurrent_calls_per_turn, concurrent_calls, .. } = Limits::default();
        assert_eq!((concurrent_calls_per_turn, concurrent_calls), (16, 256));
    }

    #[test]
    fn the_results_of_a_step_share_a_budget() {
        let limits = Limits::default();
        let shares = [0, 1, 8, 9, 64, 512, 1000, usize::MAX].map(|calls| limits.result_bytes(calls));
        assert_eq!(shares, [65536, 65536, 65536, 58254, 8192, 1024, 1024, 1024]);
        let small = Limits { model_output_bytes: 100, ..limits };
        assert_eq!(small.result_bytes(1000), 100);
    }
}
