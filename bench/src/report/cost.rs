//! Costs that may grow with the number of stored messages or open streams.

/// A cost that is measured at several sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Cost {
    /// First page of the conversation list.
    List,
    /// Search for a rare word.
    Search,
    /// Opening a conversation of 50 messages.
    Open,
    /// First token of a turn with a tool call.
    TurnTtft,
    /// CPU time of such a turn.
    TurnCpu,
    /// First token of such a turn while streams are open.
    StreamsTtft,
    /// CPU time per token of the open streams.
    TokenCpu,
}

/// The quantity with which a cost may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Size {
    StoredMessages,
    OpenStreams,
}

impl Size {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::StoredMessages => "stored messages",
            Self::OpenStreams => "open streams",
        }
    }
}

impl Cost {
    /// Returns its name in tables and files.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::List => "growth_list",
            Self::Search => "growth_search",
            Self::Open => "growth_open",
            Self::TurnTtft => "growth_ttft",
            Self::TurnCpu => "growth_turn_cpu",
            Self::StreamsTtft => "growth_streams_ttft",
            Self::TokenCpu => "growth_token_cpu",
        }
    }

    /// Returns its unit.
    pub(super) fn unit(self) -> &'static str {
        if self == Self::TokenCpu { "µs" } else { "ms" }
    }

    pub(super) fn size(self) -> Size {
        match self {
            Self::StreamsTtft | Self::TokenCpu => Size::OpenStreams,
            _ => Size::StoredMessages,
        }
    }
}
