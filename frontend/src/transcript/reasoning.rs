//! The reasoning of a model in one step of an answer, as the page knows it.

use tallybook_protocol::{MessageId, Reasoning, ReasoningDelta};

/// Reasoning of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReasoningPart {
    /// The answer that contains it.
    pub message: MessageId,
    /// The text, position and duration.
    pub content: Reasoning,
    /// `true` if the model has stopped reasoning.
    pub is_over: bool,
}

impl ReasoningPart {
    /// Creates it from a message. If the message's turn is over, so is the reasoning.
    pub(super) fn of(message: MessageId, content: Reasoning, is_turn_over: bool) -> Self {
        let is_over = is_turn_over || content.duration_ms.is_some();
        Self { message, content, is_over }
    }

    /// Creates it from its first event.
    pub(super) fn started_by(message: MessageId, delta: &ReasoningDelta) -> Self {
        Self::of(message, Reasoning::started_by(delta), false)
    }

    /// Returns it with the text of an event added; `None` if the event contains nothing new.
    pub(super) fn grown(&self, delta: &ReasoningDelta) -> Option<Self> {
        let mut content = self.content.clone();
        content.apply(delta);
        (content != self.content).then(|| Self::of(self.message, content, false))
    }

    /// Adds what is missing here from another state of the same reasoning.
    pub(super) fn extend_from(&mut self, other: &Self) {
        if other.content.text.len() > self.content.text.len() {
            self.content.text.clone_from(&other.content.text);
            self.content.truncated = other.content.truncated;
        }
        self.content.duration_ms = self.content.duration_ms.or(other.content.duration_ms);
    }
}
