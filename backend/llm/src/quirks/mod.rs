//! Quirks: the parts of a request that a model's server cannot accept. A quirk is known from the settings or from a
//! refusal (`refusal`). The model client remembers it until the process ends. The wire formats write requests without
//! these parts; `wire_format` contains the changes that are the same for all wire formats.

mod phrases;
mod refusal;

use std::collections::{BTreeMap, BTreeSet};

use parking_lot::RwLock;
use serde::{Deserialize, Serialize};

pub(crate) use refusal::{named_in, refuses_key};

/// A part of a request that a model's server cannot accept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quirk {
    /// The field `stream_options`. Without it, the answer may end without token counts.
    NoStreamOptions,
    /// The field `max_tokens`; `max_completion_tokens` is sent instead.
    NoMaxTokens,
    /// The field `max_completion_tokens`; `max_tokens` is sent instead.
    NoMaxCompletionTokens,
    /// The field `temperature`.
    NoTemperature,
    /// The stop sequences: `stop`, `stop_sequences`.
    NoStop,
    /// The fields for the reasoning effort and the reasoning budget.
    NoReasoning,
    /// The model's earlier reasoning, which is sent back with its calls.
    NoReasoningHistory,
    /// The field `tool_choice`.
    NoToolChoice,
    /// The field `name` of a tool result.
    NoToolMessageName,
    /// Several calls in one message. Each call is sent in a message of its own, followed by its result.
    NoParallelToolCalls,
    /// Argument names that do not match `^[a-zA-Z0-9_.-]{1,64}$`. They are mapped to names that match, and back.
    NoSpecialPropertyNames,
    /// Anthropic's cache marks.
    NoCacheControl,
    /// A system message. Its text becomes the beginning of the first user message.
    NoSystemMessage,
    /// Images. A note replaces them. In the settings, `vision` controls this.
    NoImages,
    /// Tools. They are described in the prompt instead. In the settings, the tool mode controls this.
    NoTools,
}

impl Quirk {
    /// Every quirk.
    pub const ALL: [Self; 15] = [
        Self::NoStreamOptions,
        Self::NoMaxTokens,
        Self::NoMaxCompletionTokens,
        Self::NoTemperature,
        Self::NoStop,
        Self::NoReasoning,
        Self::NoReasoningHistory,
        Self::NoToolChoice,
        Self::NoToolMessageName,
        Self::NoParallelToolCalls,
        Self::NoSpecialPropertyNames,
        Self::NoCacheControl,
        Self::NoSystemMessage,
        Self::NoImages,
        Self::NoTools,
    ];

    /// Returns the name that is used in the settings file and in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoStreamOptions => "no_stream_options",
            Self::NoMaxTokens => "no_max_tokens",
            Self::NoMaxCompletionTokens => "no_max_completion_tokens",
            Self::NoTemperature => "no_temperature",
            Self::NoStop => "no_stop",
            Self::NoReasoning => "no_reasoning",
            Self::NoReasoningHistory => "no_reasoning_history",
            Self::NoToolChoice => "no_tool_choice",
            Self::NoToolMessageName => "no_tool_message_name",
            Self::NoParallelToolCalls => "no_parallel_tool_calls",
            Self::NoSpecialPropertyNames => "no_special_property_names",
            Self::NoCacheControl => "no_cache_control",
            Self::NoSystemMessage => "no_system_message",
            Self::NoImages => "no_images",
            Self::NoTools => "no_tools",
        }
    }
}

/// The quirks that one request takes into account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuirkSet(BTreeSet<Quirk>);

impl QuirkSet {
    /// Returns `true` if `quirk` is in the set.
    pub fn has(&self, quirk: Quirk) -> bool {
        self.0.contains(&quirk)
    }

    /// Returns the quirks in the order of [`Quirk::ALL`].
    pub fn iter(&self) -> impl Iterator<Item = Quirk> + '_ {
        self.0.iter().copied()
    }
}

impl FromIterator<Quirk> for QuirkSet {
    fn from_iter<T: IntoIterator<Item = Quirk>>(quirks: T) -> Self {
        Self(quirks.into_iter().collect())
    }
}

/// The quirks of one model client.
#[derive(Debug)]
pub(crate) struct Quirks {
    /// The quirks that the settings deny.
    denied: QuirkSet,
    known: RwLock<QuirkSet>,
}

impl Quirks {
    /// Creates the quirks from the settings. `true` means that a quirk applies from the start, `false` that it is never
    /// assumed.
    pub(crate) fn new(settings: &BTreeMap<Quirk, bool>) -> Self {
        let set_to = |wanted| settings.iter().filter(|(_, is)| **is == wanted).map(|(quirk, _)| *quirk).collect();
        Self { denied: set_to(false), known: RwLock::new(set_to(true)) }
    }

    /// Returns a copy of the quirks that are known so far.
    pub(crate) fn known(&self) -> QuirkSet {
        self.known.read().clone()
    }

    /// Adds `quirk` to the quirks of a request that was sent with `known`. Returns `None` if `known` already contains
    /// it, or if the settings deny it.
    pub(crate) fn add(&self, quirk: Quirk, known: &QuirkSet) -> Option<QuirkSet> {
        (!known.has(quirk) && !self.denied.has(quirk)).then(|| known.iter().chain([quirk]).collect())
    }

    /// Remembers a quirk. Returns `true` if it is new.
    pub(crate) fn learn(&self, quirk: Quirk) -> bool {
        self.known.write().0.insert(quirk)
    }
}

#[cfg(test)]
mod tests {
    use super::{Quirk, QuirkSet, Quirks};

    #[test]
    fn each_quirk_has_one_name_in_settings_and_api() {
        for quirk in Quirk::ALL {
            assert_eq!(serde_json::to_value(quirk).unwrap(), quirk.as_str());
        }
    }

    #[test]
    fn settings_confirm_and_deny_quirks() {
        let quirks = Quirks::new(&[(Quirk::NoStop, true), (Quirk::NoTools, false)].into());
        let known = quirks.known();
        assert_eq!(known, QuirkSet::from_iter([Quirk::NoStop]));
        assert_eq!(quirks.add(Quirk::NoStop, &known), None);
        assert_eq!(quirks.add(Quirk::NoTools, &known), None);
        let more = quirks.add(Quirk::NoTemperature, &known).unwrap();
        assert!(quirks.learn(Quirk::NoTemperature) && !quirks.learn(Quirk::NoTemperature));
        assert_eq!(quirks.known(), more);
    }
}
