//! Whether a step of a plan was done: by how its run ended and what it says where that is plain, else by a model.

use serde::Deserialize;
use serde_json::json;
use tallybook_protocol::{Plan, PlanStep};

use super::{
    super::{
        error::AgentError,
        limits::{ENOUGH_CHARS, EVALUATE_TIMEOUT, MAX_PLANNED_QUESTION_BYTES, MAX_REASON_CHARS},
        react::{React, STEP_LIMIT},
        recorder::{Purpose, TurnRecorder},
        result::{one_line, shorten},
    },
    ask::{Asked, ask, find_object},
    words::evaluate_prompt,
};

/// What a step says that could not be done.
const ERROR: &str = "Error:";

/// Said of a step that the turn's limit cut short.
const USED_UP: &str = "The answer has used up its steps.";

/// Said of a step that says nothing.
const NOTHING: &str = "It gave nothing.";

/// Said of a step of which its judge says no more.
const UNEXPECTED: &str = "It did not give what was expected.";

/// What is thought of an attempt at a step.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub(super) struct Verdict {
    pub(super) passed: bool,
    /// Where there is something to say.
    #[serde(default)]
    pub(super) reason: Option<String>,
    /// Whether the rest of the plan no longer fits.
    #[serde(default)]
    pub(super) need_replan: bool,
}

impl Verdict {
    /// Returns that an attempt failed for this reason.
    pub(super) fn failed(reason: &str) -> Self {
        Self { passed: false, reason: Some(one_line(reason, MAX_REASON_CHARS)), need_replan: false }
    }
}

/// Judges an attempt at a step, whose run ended for `stop_reason` with these words.
pub(super) async fn judge<R: TurnRecorder>(
    react: &mut React<'_, R>,
    plan: &Plan,
    step: &PlanStep,
    stop_reason: &str,
    words: &str,
) -> Result<Verdict, AgentError> {
    if let Some(verdict) = plain_verdict(stop_reason, words) {
        return Ok(verdict);
    }
    let envelope = json!({
        "request": shorten(&react.told.question(), MAX_PLANNED_QUESTION_BYTES),
        "success_criteria": plan.success_criteria,
        "instruction": step.instruction,
        "expected": step.expected,
        "result": words.trim(),
    });
    let (system, words) = (evaluate_prompt()?, envelope.to_string());
    let asked = Asked { purpose: Purpose::Evaluate, system, words, timeout: EVALUATE_TIMEOUT };
    let model = react.model;
    let text = ask(react, model, asked).await?;
    // It says something, and nobody says that it is wrong.
    let unread = Verdict { passed: true, ..Verdict::default() };
    Ok(text.and_then(|text| find_object::<Verdict>(&text)).map_or(unread, bounded))
}

/// What can be said without asking anybody.
fn plain_verdict(stop_reason: &str, words: &str) -> Option<Verdict> {
    if stop_reason == STEP_LIMIT {
        return Some(Verdict::failed(USED_UP));
    }
    if words.trim().is_empty() {
        return Some(Verdict::failed(NOTHING));
    }
    // Further down a step that went well may quote an error.
    let first_paragraph = words.trim_start().lines().take_while(|line| !line.trim().is_empty());
    let is_mark = |c: char| c.is_whitespace() || matches!(c, '*' | '_' | '#' | '>');
    let mut lines = first_paragraph.map(|line| line.trim_start_matches(is_mark));
    if let Some(error) = lines.find(|line| line.starts_with(ERROR)) {
        return Some(Verdict::failed(error));
    }
    let is_long = words.trim().chars().count() > ENOUGH_CHARS;
    is_long.then(|| Verdict { passed: true, ..Verdict::default() })
}

fn bounded(verdict: Verdict) -> Verdict {
    let reason = verdict.reason.map(|reason| one_line(&reason, MAX_REASON_CHARS)).filter(|reason| !reason.is_empty());
    let reason = reason.or_else(|| (!verdict.passed).then(|| UNEXPECTED.to_owned()));
    Verdict { reason, ..verdict }
}

#[cfg(test)]
mod tests {
    use super::{ENOUGH_CHARS, NOTHING, STEP_LIMIT, USED_UP, Verdict, plain_verdict};

    #[test]
    fn what_is_plain_is_judged_by_nobody() {
        let said = |stop_reason, words: &str| {
            plain_verdict(stop_reason, words).map(|Verdict { passed, reason, .. }| (passed, reason.unwrap_or_default()))
        };
        let long = "x".repeat(ENOUGH_CHARS + 1);
        assert_eq!(said("end_turn", &long), Some((true, String::new())));
        assert_eq!(said(STEP_LIMIT, &long), Some((false, USED_UP.to_owned())));
        assert_eq!(said("end_turn", " \n"), Some((false, NOTHING.to_owned())));
        let error = (false, "Error: the page is gone".to_owned());
        for words in [
            "Error: the page is gone",
            "\n \nError: the page is gone\n\nIt was there before.",
            "I looked.\n**Error: the page is gone\nSorry.",
        ] {
            assert_eq!(said("end_turn", words), Some(error.clone()));
        }
        for words in [
            format!("No \"Error:\" was seen. {long}"),
            format!("\n{long}\n\nThe log has these lines:\n\nError: disk full\n> Error: again"),
            format!("{long}\r\n \t\r\nError: disk full"),
        ] {
            assert_eq!(said("end_turn", &words), Some((true, String::new())), "{words}");
        }
        assert_eq!(said("end_turn", &"x".repeat(ENOUGH_CHARS)), None);
    }
}
