//! Tags and marks in models' text: those with which some models write calls (Hermes, Qwen, Mistral, Llama), and those
//! around call results and around reasoning.

use super::xml::FUNCTION;

/// A pair of tags around content, or a mark before it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tag {
    pub(crate) opening: &'static str,
    /// Empty for a mark.
    pub(crate) closing: &'static str,
    pub(crate) holds: TagKind,
}

/// The content of a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TagKind {
    /// Calls.
    Calls,
    /// One call, which begins with the tag itself (`xml`).
    Function,
    /// Calls that end at the end of their JSON or of their arguments (`marked`).
    Marked,
    /// Reasoning, in which nothing is a call.
    Reasoning,
    /// The result of a call. Only the server can know it, so the model invented it.
    Result,
}

const TAGS: [Tag; 8] = [
    Tag { opening: "<tool_call>", closing: "</tool_call>", holds: TagKind::Calls },
    Tag { opening: "<tool_calls>", closing: "</tool_calls>", holds: TagKind::Calls },
    Tag { opening: "<function_call>", closing: "</function_call>", holds: TagKind::Calls },
    Tag { opening: FUNCTION, closing: "</function>", holds: TagKind::Function },
    Tag { opening: "[TOOL_CALLS]", closing: "", holds: TagKind::Marked },
    Tag { opening: "<|python_tag|>", closing: "", holds: TagKind::Marked },
    Tag { opening: "<think>", closing: "</think>", holds: TagKind::Reasoning },
    Tag { opening: "<tool_response>", closing: "</tool_response>", holds: TagKind::Result },
];

impl Tag {
    /// Returns the tag with exactly this opening.
    pub(crate) fn of(written: &str) -> Option<&'static Self> {
        TAGS.iter().find(|tag| tag.opening == written)
    }

    /// Returns `true` if this text may be the beginning of a tag.
    pub(crate) fn is_open(beginning: &str) -> bool {
        TAGS.iter().any(|tag| tag.opening.starts_with(beginning))
    }
}
