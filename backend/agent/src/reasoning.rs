//! Asks a model to summarize in a few lines how an answer was made, and why. The caller decides when to ask, and what
//! replaces the summary if the model fails.

use askama::Template;
use futures_util::future::pending;
use serde::Serialize;
use serde_json::json;
use tallybook_llm::{ModelClient, Sampling};
use tallybook_protocol::{first_bytes, first_chars};
use tokio::time::Instant;

use super::{
    error::AgentError,
    limits::{MAX_REASONING_ANSWER_BYTES, MAX_REASONING_LINE_CHARS, MAX_REASONING_TEXT_BYTES, REASONING_TIMEOUT},
    recorder::Purpose,
    side_call::{Question, SideCall, complete_side_call},
};

/// Maximum number of lines in a summary.
pub const MAX_REASONING_LINES: usize = 3;

/// A tool call in the prompt for a summary.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SummaryCall<'a> {
    /// The name of the tool.
    pub tool: &'a str,
    /// The beginning of the arguments.
    pub input: &'a str,
    /// The status of the call.
    pub status: &'a str,
    /// The beginning of the output or the error.
    pub result: &'a str,
}

#[derive(Template)]
#[template(path = "reasoning_summary.txt", escape = "none")]
struct Prompt;

/// Asks the model for a summary and returns its unchecked answer, which [`reasoning_lines`] parses. Fails only if the
/// prompt cannot be rendered; if the model fails, the error is in [`SideCall::text`].
pub async fn explain_reasoning(
    model: &dyn ModelClient,
    question: &str,
    calls: &[SummaryCall<'_>],
    answer: &str,
) -> Result<SideCall, AgentError> {
    let [question, answer] = [question, answer].map(|text| first_bytes(text, MAX_REASONING_TEXT_BYTES));
    let prompt = json!({"question": question, "calls": calls, "answer": answer});
    let question = Question {
        purpose: Purpose::ReasoningSummary,
        step: 0,
        system: vec![Prompt.render()?],
        prompt: prompt.to_string(),
        max_bytes: MAX_REASONING_ANSWER_BYTES,
        sampling: Sampling::default(),
        deadline: Instant::now() + REASONING_TIMEOUT,
    };
    Ok(complete_side_call(model, question, pending()).await)
}

/// Returns the lines of a summary, without the list markers that models often put before them.
pub fn reasoning_lines(text: &str) -> Vec<String> {
    let is_mark = |c: char| c.is_whitespace() || matches!(c, '-' | '*' | '•' | '・');
    let line = |line: &str| {
        let bare = line.trim_start_matches(is_mark);
        let numbered = bare.split_once(['.', ')', '．', '、']);
        let is_number = |number: &str, rest: &str| {
            number.len() == 1
                && number.bytes().all(|b| b.is_ascii_digit())
                && !rest.starts_with(|c: char| c.is_ascii_digit())
        };
        let numbered = numbered.filter(|(number, rest)| is_number(number, rest));
        let bare = numbered.map_or(bare, |(_, rest)| rest).trim();
        first_chars(bare, MAX_REASONING_LINE_CHARS).to_owned()
    };
    text.lines().map(line).filter(|line| !line.is_empty()).take(MAX_REASONING_LINES).collect()
}

#[cfg(test)]
mod tests {
    use super::{Prompt, Template as _, reasoning_lines};

    #[test]
    fn the_prompt() {
        insta::assert_snapshot!(Prompt.render().unwrap());
    }

    #[test]
    fn a_summary_is_three_lines_without_marks() {
        assert_eq!(reasoning_lines("- One.\n\n* Two.\n 3) Three.\n4. Four."), ["One.", "Two.", "Three."]);
        assert_eq!(reasoning_lines("1．計算した。\n・確かめた。"), ["計算した。", "確かめた。"]);
        assert_eq!(reasoning_lines("3.5 is a number."), ["3.5 is a number."]);
        assert_eq!(reasoning_lines(" \n"), Vec::<String>::new());
        assert_eq!(reasoning_lines(&"数".repeat(1000))[0].chars().count(), 200);
    }
}
