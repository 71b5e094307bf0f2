//! The texts of a tool call as they are shown: which there are, their headings, and their readable form.

use crate::{
    invisible::Found,
    json,
    language::Language,
    transcript::{Call, CallText},
};

/// One of a call's texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallTextPart {
    Proposed,
    Input,
    Output,
    Error,
}

impl CallTextPart {
    /// All texts, in the order in which they are shown.
    pub(crate) const ALL: [Self; 4] = [Self::Proposed, Self::Input, Self::Output, Self::Error];

    /// Returns this text of a call, if it has one.
    pub(crate) fn of(self, call: &Call) -> Option<&CallText> {
        match self {
            Self::Proposed => call.proposed.as_ref(),
            Self::Input => Some(&call.input),
            Self::Output => call.output.as_ref(),
            Self::Error => call.error.as_ref(),
        }
    }

    /// Returns its name in element IDs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Input => "input",
            Self::Output => "output",
            Self::Error => "error",
        }
    }

    /// Returns its heading.
    pub(crate) fn heading(self, call: Option<&Call>, text: Language) -> &'static str {
        match self {
            Self::Proposed => text.proposed_input(),
            Self::Input if call.is_some_and(|call| call.proposed.is_some()) => text.edited_input(),
            Self::Input => text.input(),
            Self::Output => text.output(),
            Self::Error => text.error(),
        }
    }

    /// Returns the known text in readable form.
    pub(crate) fn readable(self, content: &str) -> String {
        match self {
            Self::Proposed | Self::Input => json::readable(content),
            Self::Output => json::readable_output(content),
            Self::Error => content.to_owned(),
        }
    }
}

/// A text as it is rendered: all of it, or the known beginning.
pub(crate) enum CallContent {
    Rows(Vec<json::Row>),
    NoArguments,
    Whole(String),
    Beginning(String),
}

impl CallContent {
    /// Returns the content of a text.
    pub(crate) fn of(part: CallTextPart, held: &CallText) -> Self {
        if !held.is_whole() {
            return Self::Beginning(part.readable(&held.text));
        }
        if matches!(part, CallTextPart::Proposed | CallTextPart::Input) {
            if let Some(rows) = json::rows(&held.text) {
                return Self::Rows(rows);
            }
            if matches!(held.text.trim(), "{}" | "null") {
                return Self::NoArguments;
            }
        }
        Self::Whole(part.readable(&held.text))
    }

    /// Returns the hidden characters in it.
    pub(crate) fn found(&self) -> Found {
        let mut found = Found::default();
        match self {
            Self::Rows(rows) => rows.iter().for_each(|row| {
                found.add(&row.key);
                found.add(&row.value);
            }),
            Self::NoArguments => {}
            Self::Whole(words) | Self::Beginning(words) => found.add(words),
        }
        found
    }
}
