//! Asks a model to update the summary of a conversation, from the previous summary and the messages since then. The
//! caller decides when to ask, which messages the summary covers, and how the summary is used.

use askama::Template;
use futures_util::future::pending;
use serde::Serialize;
use serde_json::json;
use tallybook_llm::{ModelClient, Sampling};
use tallybook_protocol::first_chars;
use tokio::time::Instant;

use super::{
    error::AgentError,
    limits::{
        MAX_SUMMARY_ANSWER_BYTES, MAX_SUMMARY_TOKENS, MAX_SUMMED_ANSWER_CHARS, MAX_SUMMED_QUESTION_CHARS,
        SUMMARY_TIMEOUT,
    },
    recorder::Purpose,
    side_call::{Question, SideCall, complete_side_call},
};

/// A question and its answer, truncated for the summary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SummaryExchange {
    question: String,
    answer: String,
}

impl SummaryExchange {
    /// Truncates a question and its answer to their maximum lengths.
    pub fn new(question: &str, answer: &str) -> Self {
        let beginning = |text: &str, chars| first_chars(text, chars).to_owned();
        Self {
            question: beginning(question, MAX_SUMMED_QUESTION_CHARS),
            answer: beginning(answer, MAX_SUMMED_ANSWER_CHARS),
        }
    }

    /// Returns the beginning of the question.
    pub fn question(&self) -> &str {
        &self.question
    }

    /// Returns the beginning of the answer.
    pub fn answer(&self) -> &str {
        &self.answer
    }
}

#[derive(Template)]
#[template(path = "summary.txt", escape = "none")]
struct Prompt {
    max_chars: usize,
}

/// Asks the model for a summary and returns its unchecked answer, which may be too long. Sends `temperature` if it is
/// set. Fails only if the prompt cannot be rendered; if the model fails, the error is in [`SideCall::text`].
pub async fn summarize_conversation(
    model: &dyn ModelClient,
    before: Option<&str>,
    exchanges: &[SummaryExchange],
    max_chars: usize,
    temperature: Option<f64>,
) -> Result<SideCall, AgentError> {
    let question = Question {
        purpose: Purpose::Summary,
        step: 0,
        system: vec![Prompt { max_chars }.render()?],
        prompt: json!({"summary": before, "exchanges": exchanges}).to_string(),
        max_bytes: MAX_SUMMARY_ANSWER_BYTES,
        sampling: Sampling { max_tokens: Some(MAX_SUMMARY_TOKENS), temperature, stop: Vec::new() },
        deadline: Instant::now() + SUMMARY_TIMEOUT,
    };
    Ok(complete_side_call(model, question, pending()).await)
}

#[cfg(test)]
mod tests {
    use super::{Prompt, SummaryExchange, Template as _};

    #[test]
    fn the_prompt() {
        insta::assert_snapshot!(Prompt { max_chars: 300 }.render().unwrap());
    }

    #[test]
    fn the_beginning_of_each_message_is_summarized() {
        let exchange = SummaryExchange::new(&"問".repeat(5000), &"答".repeat(5000));
        assert_eq!((exchange.question().chars().count(), exchange.answer().chars().count()), (1000, 2000));
    }
}
