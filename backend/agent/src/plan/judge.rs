//! Judges whether a step of a plan was done. If the end of the run and its text leave no doubt, no model is asked;
//! otherwise a model judges.

use serde::Deserialize;
use serde_json::json;
use tallybook_protocol::{Plan, PlanStep};

use super::{
    super::{
        error::AgentError,
        limits::{ENOUGH_CHARS, EVALUATE_TIMEOUT, MAX_PLANNED_QUESTION_BYTES, MAX_REASON_CHARS},
        react::{AgentLoop, STEP_LIMIT},
        recorder::{Purpose, TurnRecorder},
        result::{one_line, shorten},
    },
    ask::{PlanQuestion, ask, find_object},
};
use crate::plan::prompts::evaluate_prompt;

/// Prefix of a step's text if the step could not be done.
const ERROR: &str = "Error:";

/// Reason if the turn's limit ended the step.
const USED_UP: &str = "The answer has used up its steps.";

/// Reason if the step wrote no text.
const NOTHING: &str = "It gave nothing.";

/// Reason if the judge rejects a step and gives none.
const UNEXPECTED: &str = "It did not give what was expected.";

/// The verdict on an attempt at a step.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) passed: bool,
    /// The reason; `None` if there is nothing to say.
    #[serde(default)]
    pub(crate) reason: Option<String>,
    /// `true` if the rest of the plan no longer fits.
    #[serde(default)]
    pub(crate) need_replan: bool,
}

impl Verdict {
    /// Creates the verdict on an attempt that failed for this reason.
    pub(crate) fn failed(reason: &str) -> Self {
        Self { passed: false, reason: Some(one_line(reason, MAX_REASON_CHARS)), need_replan: false }
    }
}

/// Judges an attempt at a step. `stop_reason` and `result` are the stop reason and the final text of its run.
pub(crate) async fn judge<R: TurnRecorder>(
    react: &mut AgentLoop<'_, R>,
    plan: &Plan,
    step: &PlanStep,
    stop_reason: &str,
    result: &str,
) -> Result<Verdict, AgentError> {
    if let Some(verdict) = plain_verdict(stop_reason, result) {
        return Ok(verdict);
    }
    let envelope = json!({
        "request": shorten(&react.context.question(), MAX_PLANNED_QUESTION_BYTES),
        "success_criteria": plan.success_criteria,
        "instruction": step.instruction,
        "expected": step.expected,
        "result": result.trim(),
    });
    let (system, prompt) = (evaluate_prompt()?, envelope.to_string());
    let asked = PlanQuestion { purpose: Purpose::Evaluate, system, prompt, timeout: EVALUATE_TIMEOUT };
    let model = react.model;
    let text = ask(react, model, asked).await?;
    // The step wrote a text, and no judge said that it is wrong.
    let unread = Verdict { passed: true, ..Verdict::default() };
    Ok(text.and_then(|text| find_object::<Verdict>(&text)).map_or(unread, bounded))
}

/// Returns the verdict that needs no model; `None` if a model must judge.
fn plain_verdict(stop_reason: &str, text: &str) -> Option<Verdict> {
    if stop_reason == STEP_LIMIT {
        return Some(Verdict::failed(USED_UP));
    }
    if text.trim().is_empty() {
        return Some(Verdict::failed(NOTHING));
    }
    // Only the first paragraph counts: further down, a successful step may quote an error.
    let first_paragraph = text.trim_start().lines().take_while(|line| !line.trim().is_empty());
    let is_mark = |c: char| c.is_whitespace() || matches!(c, '*' | '_' | '#' | '>');
    let mut lines = first_paragraph.map(|line| line.trim_start_matches(is_mark));
    if let Some(error) = lines.find(|line| line.starts_with(ERROR)) {
        return Some(Verdict::failed(error));
    }
    let is_long = text.trim().chars().count() > ENOUGH_CHARS;
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
    fn plain_steps_need_no_judge() {
        let said = |stop_reason, text: &str| {
            plain_verdict(stop_reason, text).map(|Verdict { passed, reason, .. }| (passed, reason.unwrap_or_default()))
        };
        let long = "x".repeat(ENOUGH_CHARS + 1);
        assert_eq!(said("end_turn", &long), Some((true, String::new())));
        assert_eq!(said(STEP_LIMIT, &long), Some((false, USED_UP.to_owned())));
        assert_eq!(said("end_turn", " \n"), Some((false, NOTHING.to_owned())));
        let error = (false, "Error: the page is gone".to_owned());
        for text in [
            "Error: the page is gone",
            "\n \nError: the page is gone\n\nIt was there before.",
            "I looked.\n**Error: the page is gone\nSorry.",
        ] {
            assert_eq!(said("end_turn", text), Some(error.clone()));
        }
        for text in [
            format!("No \"Error:\" was seen. {long}"),
            format!("\n{long}\n\nThe log has these lines:\n\nError: disk full\n> Error: again"),
            format!("{long}\r\n \t\r\nError: disk full"),
        ] {
            assert_eq!(said("end_turn", &text), Some((true, String::new())), "{text}");
        }
        assert_eq!(said("end_turn", &"x".repeat(ENOUGH_CHARS)), None);
    }
}
