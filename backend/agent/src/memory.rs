//! Asking a model to keep the memory of a conversation: a summary from the one before and what was said since then. When it is
//! asked, what the summary covers and what becomes of it is not decided here.

use askama::Template;
use futures_util::future::pending;
use serde::Serialize;
use serde_json::json;
use tallybook_llm::{ModelClient, Sampling};
use tokio::time::Instant;

use super::{
    aside::{Aside, Question, ask_aside},
    error::AgentError,
    limits::{
        MAX_SUMMARY_ANSWER_BYTES, MAX_SUMMARY_TOKENS, MAX_SUMMED_ANSWER_CHARS, MAX_SUMMED_QUESTION_CHARS,
        SUMMARY_TIMEOUT,
    },
    recorder::Purpose,
};

/// A question and its answer, as far as they are summed up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SummedExchange {
    question: String,
    answer: String,
}

impl SummedExchange {
    /// The beginnings of a question and of its answer.
    pub fn new(question: &str, answer: &str) -> Self {
        let beginning = |text: &str, chars| text.chars().take(chars).collect();
        Self {
            question: beginning(question, MAX_SUMMED_QUESTION_CHARS),
            answer: beginning(answer, MAX_SUMMED_ANSWER_CHARS),
        }
    }

    /// The beginning of the question.
    pub fn question(&self) -> &str {
        &self.question
    }

    /// The beginning of the answer.
    pub fn answer(&self) -> &str {
        &self.answer
    }
}

#[derive(Template)]
#[template(path = "summary.txt", escape = "none")]
struct Prompt {
    max_chars: usize,
}

/// What the model writes, unchecked and perhaps too long, at `temperature` where one is named. Fails where it cannot even be
/// asked.
pub async fn sum_up_conversation(
    model: &dyn ModelClient,
    before: Option<&str>,
    exchanges: &[SummedExchange],
    max_chars: usize,
    temperature: Option<f64>,
) -> Result<Aside, AgentError> {
    let question = Question {
        purpose: Purpose::Summary,
        step: 0,
        system: vec![Prompt { max_chars }.render()?],
        words: json!({"summary": before, "exchanges": exchanges}).to_string(),
        max_bytes: MAX_SUMMARY_ANSWER_BYTES,
        sampling: Sampling { max_tokens: Some(MAX_SUMMARY_TOKENS), temperature, stop: Vec::new() },
        deadline: Instant::now() + SUMMARY_TIMEOUT,
    };
    Ok(ask_aside(model, question, pending()).await)
}

#[cfg(test)]
mod tests {
    use super::{Prompt, SummedExchange, Template as _};

    #[test]
    fn the_prompt() {
        insta::assert_snapshot!(Prompt { max_chars: 300 }.render().unwrap());
    }

    #[test]
    fn the_beginnings_are_summed_up() {
        let exchange = SummedExchange::new(&"問".repeat(5000), &"答".repeat(5000));
        assert_eq!((exchange.question().chars().count(), exchange.answer().chars().count()), (1000, 2000));
    }
}
