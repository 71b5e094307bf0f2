//! What a model showed of its thinking in one step of an answer, as far as the page has heard of it.

use tallybook_protocol::{MessageId, Reasoning, ReasoningDelta};

/// Thinking of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thought {
    /// The answer that it stands in.
    pub message: MessageId,
    /// What was thought, and for how long.
    pub told: Reasoning,
    /// Whether the model has stopped thinking.
    pub is_over: bool,
}

impl Thought {
    /// As a message tells it, whose turn is over or not.
    pub(super) fn of(message: MessageId, told: Reasoning, is_turn_over: bool) -> Self {
        let is_over = is_turn_over || told.duration_ms.is_some();
        Self { message, told, is_over }
    }

    /// The beginning of it.
    pub(super) fn started_by(message: MessageId, delta: &ReasoningDelta) -> Self {
        Self::of(message, Reasoning::started_by(delta), false)
    }

    /// The same with what is new in an event; nothing where there is nothing new.
    pub(super) fn grown(&self, delta: &ReasoningDelta) -> Option<Self> {
        let mut told = self.told.clone();
        told.apply(delta);
        (told != self.told).then(|| Self::of(self.message, told, false))
    }

    /// Takes what is missing from the same as it was heard of at another time.
    pub(super) fn extend_from(&mut self, other: &Self) {
        if other.told.text.len() > self.told.text.len() {
            self.told.text.clone_from(&other.told.text);
            self.told.truncated = other.told.truncated;
        }
        self.told.duration_ms = self.told.duration_ms.or(other.told.duration_ms);
    }
}
