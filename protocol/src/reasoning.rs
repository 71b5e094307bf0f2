//! Reasoning that a model shows: an item in an answer, one per step, and the event that extends it. It is for users to
//! read. The provider's client decides what is sent back to the model; this text is not.

use serde::{Deserialize, Serialize};

/// Maximum size of one step's reasoning that is stored and sent, in bytes as JSON. If there is more, only that fact is
/// recorded.
pub const MAX_STEP_REASONING_BYTES: usize = 256 * 1024;

/// Maximum size of the reasoning of all steps together, in bytes as JSON, because one event at the end of a turn
/// contains it.
pub const MAX_REASONING_BYTES: usize = 512 * 1024;

/// A model's reasoning in one step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Reasoning {
    /// ID of the item within its answer: the number of the step.
    pub reasoning_id: i64,
    /// Position of the item in the answer's text, in UTF-8 bytes.
    pub offset: i64,
    /// Number of the answer's tool calls before the item, regardless of their positions in the text.
    #[serde(default)]
    pub calls_before: i64,
    /// The reasoning as plain text, not Markdown.
    pub text: String,
    /// `true` if there was more reasoning than is stored.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Duration of the reasoning, in milliseconds; absent while it continues, and if it was aborted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
}

/// The model is reasoning, or has stopped reasoning.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ReasoningDelta {
    /// ID of the item, as in [`Reasoning`].
    pub reasoning_id: i64,
    /// Position of the item in the answer's text, in UTF-8 bytes.
    pub offset: i64,
    /// Number of the answer's tool calls before the item.
    #[serde(default)]
    pub calls_before: i64,
    /// Length of the item's text before `delta`, in UTF-8 bytes. Clients drop text that they already have.
    pub reasoning_offset: i64,
    /// The new text; empty if the reasoning only ends.
    pub delta: String,
    /// Total duration in milliseconds, if the reasoning has ended. It can resume later in the same step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// `true` if there was more reasoning than is sent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

impl Reasoning {
    /// Creates the item that starts with this event.
    pub fn started_by(delta: &ReasoningDelta) -> Self {
        let ReasoningDelta { reasoning_id, offset, calls_before, .. } = *delta;
        let mut reasoning = Self { reasoning_id, offset, calls_before, ..Self::default() };
        reasoning.apply(delta);
        reasoning
    }

    /// Applies an event: appends its new text. An event that was applied before changes nothing, and an event that does
    /// not connect to the existing text adds no text.
    pub fn apply(&mut self, delta: &ReasoningDelta) {
        let begin = usize::try_from(delta.reasoning_offset).unwrap_or(usize::MAX);
        let held = self.text.len().checked_sub(begin);
        if let Some(new) = held.and_then(|held| delta.delta.get(held..)) {
            self.text.push_str(new);
            // A repeated event without new text and without a duration must not clear the duration.
            if !new.is_empty() || delta.duration_ms.is_some() {
                self.duration_ms = delta.duration_ms;
            }
            self.truncated |= delta.truncated;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Reasoning, ReasoningDelta};

    fn delta(reasoning_offset: i64, delta: &str) -> ReasoningDelta {
        ReasoningDelta { reasoning_id: 2, offset: 7, reasoning_offset, delta: delta.to_owned(), ..Default::default() }
    }

    fn end(reasoning_offset: i64, ms: i64) -> ReasoningDelta {
        ReasoningDelta { duration_ms: Some(ms), ..delta(reasoning_offset, "") }
    }

    #[test]
    fn repeated_events_and_events_after_a_gap_add_nothing() {
        let mut reasoning = Reasoning::started_by(&delta(0, "Let me"));
        for heard in [delta(6, " think"), delta(0, "Let me"), delta(3, " me thi"), delta(90, "lost"), delta(-1, "x")] {
            reasoning.apply(&heard);
        }
        assert_eq!((reasoning.text.as_str(), reasoning.offset, reasoning.duration_ms), ("Let me think", 7, None));
        reasoning.apply(&end(12, 1200));
        reasoning.apply(&delta(6, " think"));
        assert_eq!((reasoning.text.as_str(), reasoning.duration_ms), ("Let me think", Some(1200)));
        // The reasoning resumes in the same step.
        reasoning.apply(&delta(12, "."));
        assert_eq!((reasoning.text.as_str(), reasoning.duration_ms), ("Let me think.", None));
    }

    #[test]
    fn an_offset_within_a_character_adds_nothing() {
        let mut reasoning = Reasoning::started_by(&delta(0, "考"));
        reasoning.apply(&delta(1, "考え"));
        assert_eq!(reasoning.text, "考");
    }
}
