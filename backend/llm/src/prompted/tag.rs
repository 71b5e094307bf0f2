//! Tags in which some models were taught to write their calls (Hermes, Qwen), and the results that they were shown.

/// A tag around JSON.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Tag {
    pub(super) opening: &'static str,
    pub(super) closing: &'static str,
    pub(super) holds: Holds,
}

/// What a tag stands around.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// Calls.
    Calls,
    /// The result of a call, which only a server can know.
    Result,
}

const TAGS: [Tag; 4] = [
    Tag { opening: "<tool_call>", closing: "</tool_call>", holds: Holds::Calls },
    Tag { opening: "<tool_calls>", closing: "</tool_calls>", holds: Holds::Calls },
    Tag { opening: "<function_call>", closing: "</function_call>", holds: Holds::Calls },
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
