//! Asking a model for a conversation's title. When it is asked, and what becomes of the answer, is not decided here.

use std::sync::Arc;

use askama::Template;
use futures_util::StreamExt;
use tallybook_llm::{ModelClient, ModelError, ModelEvent, ModelMessage, ModelRequest, Sampling, ToolChoice};
use tokio::time::timeout;

use super::{
    error::AgentError,
    limits::{MAX_TITLE_ANSWER_BYTES, MAX_TITLE_INPUT_BYTES, TITLE_TIMEOUT},
};

/// Asks a model for titles. Its tokens belong to no turn and are counted in none.
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
    /// Titles by this model.
    pub fn new(model: Arc<dyn ModelClient>) -> Self {
        Self { model }
    }

    /// What the model writes when it is asked for a title, unchecked.
    pub async fn write(&self, question: &str, answer: &str) -> Result<String, AgentError> {
        let prompt = Prompt { question: beginning(question), answer: beginning(answer) }.render()?;
        let request = ModelRequest {
            system: Vec::new(),
            messages: vec![ModelMessage::user_text(prompt)],
            tools: Arc::new([]),
            tool_choice: ToolChoice::None,
            sampling: Sampling::default(),
        };
        let written = timeout(TITLE_TIMEOUT, self.read(request)).await;
        Ok(written.unwrap_or(Err(ModelError::Timeout { seconds: TITLE_TIMEOUT.as_secs() }))?)
    }

    async fn read(&self, request: ModelRequest) -> Result<String, ModelError> {
        let mut stream = self.model.stream(request);
        let mut text = String::new();
        while let Some(event) = stream.next().await {
            match event? {
                ModelEvent::TextDelta(delta) => text.push_str(&delta),
                ModelEvent::Ended { usage, .. } => {
                    tracing::debug!(?usage, "a model wrote a title");
                    return Ok(text);
                }
                ModelEvent::Attempt(_)
                | ModelEvent::RetryIn(_)
                | ModelEvent::CallGrew { .. }
                | ModelEvent::ToolCall(_)
                | ModelEvent::Opaque(_) => {}
            }
            if text.len() > MAX_TITLE_ANSWER_BYTES {
                return Err(ModelError::BadStream { detail: "it is too long for a title".to_owned() });
            }
        }
        Err(ModelError::BadStream { detail: "it ended without saying that it was finished".to_owned() })
    }
}

impl std::fmt::Debug for TitleWriter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TitleWriter").field("model", self.model.info()).finish()
    }
}

fn beginning(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TITLE_INPUT_BYTES)]
}
