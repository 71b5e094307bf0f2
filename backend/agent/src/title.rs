//! Asks a model for a conversation's title. The caller decides when to ask and how to use the answer.

use std::sync::Arc;

use askama::Template;
use futures_util::future::pending;
use tallybook_llm::{ModelClient, Sampling};
use tallybook_protocol::first_bytes;
use tokio::time::Instant;

use super::{
    error::AgentError,
    limits::{MAX_TITLE_ANSWER_BYTES, MAX_TITLE_INPUT_BYTES, TITLE_TIMEOUT},
    recorder::Purpose,
    side_call::{Question, SideCall, complete_side_call},
};

/// Asks a model for conversation titles. The tokens are not part of a turn's outcome; the caller records them.
#[derive(Clone)]
pub struct TitleWriter {
    model: Arc<dyn ModelClient>,
}

#[derive(Template)]
#[template(path = "title.txt", escape = "none")]
struct Prompt<'a> {
    question: &'a str,
    answer: &'a str,
}

impl TitleWriter {
    /// Creates a title writer that asks this model.
    pub fn new(model: Arc<dyn ModelClient>) -> Self {
        Self { model }
    }

    /// Asks the model for a title and returns its unchecked answer. Fails only if the prompt cannot be rendered; if the
    /// model fails, the error is in [`SideCall::text`].
    pub async fn write(&self, question: &str, answer: &str) -> Result<SideCall, AgentError> {
        let [question, answer] = [question, answer].map(|text| first_bytes(text, MAX_TITLE_INPUT_BYTES));
        let prompt = Prompt { question, answer }.render()?;
        let question = Question {
            purpose: Purpose::Title,
            step: 0,
            system: Vec::new(),
            prompt,
            max_bytes: MAX_TITLE_ANSWER_BYTES,
            sampling: Sampling::default(),
            deadline: Instant::now() + TITLE_TIMEOUT,
        };
        Ok(complete_side_call(&*self.model, question, pending()).await)
    }
}

impl std::fmt::Debug for TitleWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TitleWriter").field("model", self.model.info()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{Prompt, Template as _};

    #[test]
    fn the_prompt() {
        let prompt = Prompt { question: "What is 2 + 3?", answer: "5." };
        insta::assert_snapshot!(prompt.render().unwrap());
    }
}
