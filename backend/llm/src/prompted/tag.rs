//! Tags and marks with which some models were taught to write their calls (Hermes, Qwen, Mistral, Llama), the results that
//! they were shown, and what they think.

use super::xml::FUNCTION;

/// A tag around something, or a mark before it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) opening: &'static str,
    /// Nothing for a mark.
    pub(super) closing: &'static str,
    pub(super) holds: Holds,
}

/// What a tag stands around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// Calls.
    Calls,
    /// One call, of which the tag itself is the beginning (`xml`).
    Function,
    /// Calls that end with their JSON (`marked`).
    Marked,
    /// What the model thinks, in which nothing is a call.
    Thought,
    /// The result of a call, which only a server can know.
    Result,
}

const TAGS: [Tag; 8] = [
    Tag { opening: "<tool_call>", closing: "</tool_call>", holds: Holds::Calls },
    Tag { opening: "<tool_calls>", closing: "</tool_calls>", holds: Holds::Calls },
    Tag { opening: "<function_call>", closing: "</function_call>", holds: Holds::Calls },
    Tag { opening: FUNCTION, closing: "</function>", holds: Holds::Function },
    Tag { opening: "[TOOL_CALLS]", closing: "", holds: Holds::Marked },
    Tag { opening: "<|python_tag|>", closing: "", holds: Holds::Marked },
    Tag { opening: "<think>", closing: "</think>", holds: Holds::Thought },
    Tag { opening: "<tool_response>", closing: "</tool_response>", holds: Holds::Result },
];

impl Tag {
    /// The tag that opens with exactly this.
    pub(super) fn of(written: &str) -> Option<&'static Self> {
        TAGS.iter().find(|tag| tag.opening == written)
    }

    /// Whether this may still become one.
    pub(super) fn is_open(beginning: &str) -> bool {
        TAGS.iter().any(|tag| tag.opening.starts_with(beginning))
    }
}
