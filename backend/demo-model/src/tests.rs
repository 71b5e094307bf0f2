//! Tests of the demo model. They use the real tools and drive the model as the agent does.

mod conversations;
mod english;
mod japanese;
mod properties;

use std::sync::Arc;

use futures_util::{FutureExt as _, StreamExt as _};
use tallybook_llm::{
    AssistantBlock, ModelClient as _, ModelEvent, ModelMessage, ModelRequest, Sampling, StopReason, ToolCallRequest,
    ToolChoice, ToolResult,
};
use tallybook_tools::{ToolRegistry, ToolSpec, builtin};

use super::DemoModel;

/// Maximum number of steps in an answer. A question within the limits needs a few more steps than its parentheses nest.
const MAX_STEPS: usize = 100;

/// A conversation with the demo model.
struct Talk {
    registry: ToolRegistry,
    tools: Arc<[ToolSpec]>,
    messages: Vec<ModelMessage>,
}

/// One complete answer.
#[derive(Debug, Default)]
struct Turn {
    /// The text of the last step.
    answer: String,
    /// The text of all previous steps.
    preface: String,
    /// Tool and arguments of the calls, step by step.
    steps: Vec<Vec<(String, String)>>,
}

impl Talk {
    fn new() -> Self {
        let registry = builtin().unwrap();
        Self { tools: registry.specs(), registry, messages: Vec::new() }
    }

    /// Calls the model once with the history so far.
    fn step(&mut self, tool_choice: ToolChoice) -> (String, Vec<ToolCallRequest>) {
        let request = ModelRequest {
            system: vec!["You are Tallybook.".to_owned()],
            messages: self.messages.clone(),
            tools: self.tools.clone(),
            tool_choice,
            sampling: Sampling::default(),
            may_search: false,
        };
        let model = DemoModel::new(std::time::Duration::ZERO);
        let events = model.stream(request).map(Result::unwrap).collect::<Vec<_>>().now_or_never().unwrap();
        let (mut text, mut calls, mut blocks) = (String::new(), Vec::new(), Vec::new());
        let (last, rest) = events.split_last().unwrap();
        for event in rest {
            match event {
                ModelEvent::TextDelta(delta) => {
                    assert!(!delta.is_empty());
                    text.push_str(delta);
                }
                ModelEvent::ToolCall(call) => calls.push(call.clone()),
                other => panic!("unexpected {other:?}"),
            }
        }
        let ModelEvent::Ended { stop_reason, usage } = last else { panic!("{last:?} is not the end") };
        assert_eq!(*stop_reason, if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse });
        assert!(usage.input_tokens > 0 && usage.output_tokens > 0);
        if !text.is_empty() {
            blocks.push(AssistantBlock::Text { text: text.clone() });
        }
        blocks.extend(calls.iter().cloned().map(AssistantBlock::ToolCall));
        self.messages.push(ModelMessage::Assistant(blocks));
        (text, calls)
    }

    /// Runs calls and adds their results to the history.
    fn run(&mut self, calls: &[ToolCallRequest]) {
        let results = calls.iter().map(|call| {
            let result = self.registry.call(&call.name, &call.input_text).now_or_never().unwrap();
            let content = match &result {
                Ok(output) => serde_json::json!({ "success": true, "result": output.text }),
                Err(error) => {
                    serde_json::json!({ "success": false, "error": error.message, "error_type": error.error_type })
                }
            };
            ToolResult {
                call_id: call.id.clone(),
                tool_name: call.name.clone(),
                content: content.to_string(),
                is_error: result.is_err(),
                images: Vec::new(),
            }
        });
        let results = results.collect();
        self.messages.push(ModelMessage::ToolResults(results));
    }

    /// Asks a question, and runs the calls until the answer is finished.
    fn ask(&mut self, question: &str) -> Turn {
        self.messages.push(ModelMessage::user_text(question));
        let mut turn = Turn::default();
        for _ in 0..MAX_STEPS {
            let (text, calls) = self.step(ToolChoice::Auto);
            if calls.is_empty() {
                turn.answer = text;
                return turn;
            }
            turn.preface.push_str(&text);
            turn.steps.push(calls.iter().map(|call| (call.name.clone(), call.input_text.clone())).collect());
            self.run(&calls);
        }
        panic!("no end after {MAX_STEPS} steps of {question:?}");
    }
}

/// Returns the answer to a question in a new conversation.
fn answer(question: &str) -> String {
    Talk::new().ask(question).answer
}

/// Returns the number in bold in the answer to a question, or the complete answer if there is none.
fn number(question: &str) -> String {
    let answer = answer(question);
    answer.split("**").nth(1).map_or_else(|| answer.clone(), str::to_owned)
}
