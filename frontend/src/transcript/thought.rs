//! The reasoning of a model in one step of an answer, as the page knows it.

use tallybook_protocol::{MessageId, Reasoning, ReasoningDelta};

/// Reasoning of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thought {
    /// The answer that contains it.
    pub message: MessageId,
    /// The text, position and duration.
    pub told: Reasoning,
    /// `true` if the model has stopped reasoning.
    pub is_over: bool,
}

impl Thought {
    /// Creates it from a message. If the message's turn is over, so is the reasoning.
    pub(super) fn of(message: MessageId, told: Reasoning, is_turn_over: bool) -> Self {
        let is_over = is_turn_over || told.duration_ms.is_some();
        Self { message, told, is_over }
    }

    /// Creates it from its first event.
    pub(super) fn started_by(message: MessageId, delta: &ReasoningDelta) -> Self {
        Self::of(message, Reasoning::started_by(delta), false)
    }

    /// Returns it with the text of an event added; `None` if the event contains nothing new.
    pub(super) fn grown(&self, delta: &ReasoningDelta) -> Option<Self> {
        let mut told = self.told.clone();
        told.apply(delta);
        (told != self.told).then(|| Self::of(self.message, told, false))
    }

    /// Adds what is missing here from another state of the same reasoning.
    pub(super) fn extend_from(&mut self, other: &Self) {
        if other.told.text.len() > self.told.text.len() {
            self.told.text.clone_from(&other.told.text);
            self.told.truncated = other.told.truncated;
        }
        self.told.duration_ms = self.told.duration_ms.or(other.told.duration_ms);
    }
}
