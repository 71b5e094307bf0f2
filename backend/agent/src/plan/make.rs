//! Asks a model for a plan: the first one, and a revised one if the first was not enough. Everything the model receives
//! about the conversation is data: JSON strings in one object. An answer that is not the requested plan is refused.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, json};
use tallybook_llm::{AssistantBlock, ModelMessage, UserPart};
use tallybook_protocol::{Plan, PlanStepId};

use super::{
    super::{
        error::AgentError,
        limits::{
            MAX_CRITERIA_CHARS, MAX_EXPECTED_CHARS, MAX_INSTRUCTION_CHARS, MAX_PLAN_STEPS, MAX_PLANNED_EARLIER_BYTES,
            MAX_PLANNED_QUESTION_BYTES, MAX_PLANNED_TEXT_BYTES, PLAN_TIMEOUT,
        },
        react::AgentLoop,
        recorder::{NewPlan, NewPlanStep, Purpose, TurnRecorder},
        result::{one_line, shorten},
        turn::Planning,
    },
    ask::{PlanQuestion, ask, find_object},
};
use crate::plan::prompts::{plan_prompt, steps_so_far};

/// Maximum number of times that a model is asked for a plan.
const MAX_QUESTIONS: usize = 2;

/// The JSON that a planner answers with.
#[derive(Deserialize)]
struct Draft {
    #[serde(default)]
    success_criteria: String,
    steps: Vec<DraftStep>,
}

#[derive(Deserialize)]
struct DraftStep {
    instruction: String,
    #[serde(default)]
    expected: String,
}

/// Makes a plan for the question. Returns `None` if the model produces no valid plan.
pub(crate) async fn first<R: TurnRecorder>(
    react: &mut AgentLoop<'_, R>,
    planning: &Planning,
) -> Result<Option<NewPlan>, AgentError> {
    let envelope = envelope(react);
    make(react, planning, envelope).await
}

/// Makes a plan for the remaining work, from the results of the previous plan. Returns `None` if the model produces no
/// valid plan.
pub(crate) async fn replan<R: TurnRecorder>(
    react: &mut AgentLoop<'_, R>,
    planning: &Planning,
    plan: &Plan,
    results: &HashMap<PlanStepId, String>,
    reason: &str,
) -> Result<Option<NewPlan>, AgentError> {
    let mut envelope = envelope(react);
    envelope["success_criteria"] = json!(plan.success_criteria);
    envelope["so_far"] = steps_so_far(plan, results);
    envelope["reason"] = json!(reason);
    make(react, planning, envelope).await
}

/// Builds the planner's input.
fn envelope<R>(react: &AgentLoop<'_, R>) -> Value {
    let question = shorten(&react.context.question(), MAX_PLANNED_QUESTION_BYTES);
    let tool = |tool: &tallybook_tools::ToolSpec| json!({"name": tool.name, "description": tool.description});
    let tools: Vec<Value> = react.available.specs.iter().map(tool).collect();
    json!({"earlier": earlier(react.context.before()), "request": question, "tools": tools})
}

/// Returns the newest messages before the question, as many as fit into [`MAX_PLANNED_EARLIER_BYTES`].
fn earlier(messages: &[ModelMessage]) -> Vec<Value> {
    let mut budget = MAX_PLANNED_EARLIER_BYTES;
    let mut earlier = Vec::new();
    for message in messages.iter().rev() {
        let (from, said) = match message {
            ModelMessage::User(parts) => ("person", UserPart::join_texts(parts)),
            ModelMessage::Assistant(blocks) => ("assistant", blocks.iter().filter_map(text).collect()),
            ModelMessage::ToolResults(_) => continue,
        };
        let said = shorten(&said, MAX_PLANNED_TEXT_BYTES);
        if said.is_empty() {
            continue;
        }
        let Some(left) = budget.checked_sub(said.len()) else { break };
        budget = left;
        earlier.push(json!({"from": from, "words": said}));
    }
    earlier.reverse();
    earlier
}

fn text(block: &AssistantBlock) -> Option<&str> {
    match block {
        AssistantBlock::Text { text } => Some(text),
        AssistantBlock::ToolCall(_) | AssistantBlock::Opaque { .. } => None,
    }
}

async fn make<R: TurnRecorder>(
    react: &mut AgentLoop<'_, R>,
    planning: &Planning,
    mut envelope: Value,
) -> Result<Option<NewPlan>, AgentError> {
    for _ in 0..MAX_QUESTIONS {
        let (system, prompt) = (plan_prompt()?, envelope.to_string());
        let asked = PlanQuestion { purpose: Purpose::Plan, system, prompt, timeout: PLAN_TIMEOUT };
        let Some(text) = ask(react, &*planning.planner, asked).await? else { return Ok(None) };
        match read(&text) {
            Ok(plan) => return Ok(Some(plan)),
            Err(problem) => envelope["refused"] = json!(problem),
        }
    }
    Ok(None)
}

/// Parses a plan. The error tells the planner why its answer was refused.
fn read(text: &str) -> Result<NewPlan, &'static str> {
    let draft: Draft = find_object(text).ok_or("Your last answer was not the JSON object that was asked for.")?;
    if !(1..=MAX_PLAN_STEPS).contains(&draft.steps.len()) {
        return Err("Your last answer had too many steps, or none.");
    }
    let bounded = |text: &str, max_chars| {
        let line = one_line(text, max_chars);
        if line.chars().count() > max_chars { Err("A text in your last answer was too long.") } else { Ok(line) }
    };
    let step = |step: DraftStep| {
        let instruction = bounded(&step.instruction, MAX_INSTRUCTION_CHARS)?;
        if instruction.is_empty() {
            return Err("A step in your last answer had no instruction.");
        }
        Ok(NewPlanStep { instruction, expected: bounded(&step.expected, MAX_EXPECTED_CHARS)? })
    };
    Ok(NewPlan {
        reason: None,
        success_criteria: bounded(&draft.success_criteria, MAX_CRITERIA_CHARS)?,
        steps: draft.steps.into_iter().map(step).collect::<Result<_, _>>()?,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tallybook_llm::{AssistantBlock, ModelMessage};

    use super::{MAX_INSTRUCTION_CHARS, MAX_PLANNED_EARLIER_BYTES, NewPlan, NewPlanStep, earlier, read};

    #[test]
    fn a_plan_is_read_within_its_bounds() {
        let step = |instruction: &str| json!({"instruction": instruction, "expected": "a\nnumber"});
        let plan = |steps: Vec<_>| json!({"success_criteria": "It is known.", "steps": steps}).to_string();
        let steps = vec![NewPlanStep { instruction: "Add.".to_owned(), expected: "a number".to_owned() }];
        let expected = NewPlan { reason: None, success_criteria: "It is known.".to_owned(), steps };
        assert_eq!(read(&format!("Here:\n```json\n{}\n```", plan(vec![step("Add.")]))), Ok(expected));
        assert!(read(&plan(vec![step(&"数".repeat(MAX_INSTRUCTION_CHARS)); 5])).is_ok());
        for refused in [
            "no plan".to_owned(),
            plan(Vec::new()),
            plan(vec![step("Add."); 6]),
            plan(vec![step(" \n")]),
            plan(vec![step(&"x".repeat(MAX_INSTRUCTION_CHARS + 1))]),
            json!({"steps": "none"}).to_string(),
        ] {
            assert!(read(&refused).is_err(), "{refused}");
        }
    }

    #[test]
    fn the_newest_earlier_messages_are_sent() {
        let said = |content: String| ModelMessage::Assistant(vec![AssistantBlock::Text { text: content }]);
        let messages =
            vec![said("x".repeat(4000)), said("y".repeat(MAX_PLANNED_EARLIER_BYTES)), said("z".repeat(9000))];
        let sent = earlier(&messages);
        let first: Vec<String> = sent.iter().map(|one| one["words"].to_string().chars().take(2).collect()).collect();
        assert_eq!(first, ["\"x", "\"y", "\"z"]);
        assert!(sent.iter().all(|one| one["words"].to_string().len() < 4200));
        assert_eq!(earlier(&vec![said("z".repeat(9000)); 9]).len(), 3);
    }
}
