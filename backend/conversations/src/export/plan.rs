//! Writes an answer's plan to a Markdown file: the list of its steps, and a marker in the text where each step begins.
//! The model's texts are escaped.

use tallybook_protocol::{Plan, PlanStep, PlanStepStatus};

use crate::export::sanitize::plain;

/// A marker of where a step, or the final answer, begins in the answer's text.
pub(crate) struct Mark {
    pub(crate) offset: i64,
    /// Number of tool calls before the marker.
    pub(crate) calls_before: i64,
    pub(crate) line: String,
}

/// Formats the plan as a list.
pub(crate) fn plan_block(plan: &Plan) -> String {
    let mut lines = vec!["**Plan**".to_owned()];
    if !plan.success_criteria.is_empty() {
        lines.push(format!("\n{}", plain(&plan.success_criteria)));
    }
    if plan.revision > 1 {
        let reason = plan.reason.as_deref().map(|reason| format!(": {}", plain(reason))).unwrap_or_default();
        lines.push(format!("\nPlan revised (revision {}){reason}", plan.revision));
    }
    lines.push(String::new());
    let step = |(number, step): (u32, &PlanStep)| format!("{number}. {} ({})", plain(&step.instruction), state(step));
    lines.extend((1..).zip(&plan.steps).map(step));
    lines.join("\n")
}

/// Describes the state of a step.
fn state(step: &PlanStep) -> String {
    let word = match step.status {
        PlanStepStatus::Pending => "not started",
        PlanStepStatus::Executing => "not finished",
        PlanStepStatus::Completed => "done",
        PlanStepStatus::Failed => "failed",
        PlanStepStatus::Unknown => "unknown",
    };
    let attempts = if step.attempt > 1 { format!(", {} attempts", step.attempt) } else { String::new() };
    let reason = step.reason.as_deref().map(|reason| format!(": {}", plain(reason))).unwrap_or_default();
    format!("{word}{attempts}{reason}")
}

/// Returns the markers of the steps, and of the final answer after them, in order.
pub(crate) fn marks(plan: &Plan, content: &str) -> Vec<Mark> {
    let begun = (1_u32..).zip(&plan.steps).filter_map(|(number, step)| {
        let line = format!("**Step {number}** · {}", plain(&step.instruction));
        Some(Mark { offset: step.offset?, calls_before: step.calls_before.unwrap_or(0), line })
    });
    let mut marks: Vec<Mark> = begun.collect();
    marks.sort_by_key(|mark| (mark.offset, mark.calls_before));
    let is_at_work = plan.steps.iter().any(|step| step.status == PlanStepStatus::Executing);
    let end = plan.steps.iter().filter_map(|step| step.end_offset).max().filter(|_| !is_at_work);
    let has_answer = |end: &i64| usize::try_from(*end).is_ok_and(|end| end < content.len());
    if let Some(offset) = end.filter(has_answer) {
        marks.push(Mark { offset, calls_before: 0, line: "**Answer**".to_owned() });
    }
    marks
}
