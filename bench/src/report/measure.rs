//! What the figures are called, and in what they are told.

use crate::history_pages::HISTORY_PAGES;

/// What one figure tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Measure {
    TurnTtft,
    TurnTtft32,
    TransitP99,
    TransitMax,
    CpuPerToken,
    LoadMemory,
    SaturatedTokens,
    IdleStream,
    PersistTax,
    ProgramCost,
    /// A page of the tool history, by its place among [`HISTORY_PAGES`].
    History(usize),
    HistoryMiddle,
}

/// One figure of one peer.
pub(crate) type Taken = (Measure, f64);

impl Measure {
    /// Its name in tables and files.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::TurnTtft => "turn_ttft",
            Self::TurnTtft32 => "turn_ttft_32",
            Self::TransitP99 => "token_transit_p99",
            Self::TransitMax => "token_transit_max",
            Self::CpuPerToken => "cpu_per_token",
            Self::LoadMemory => "load_mem",
            Self::SaturatedTokens => "sat_tokens",
            Self::IdleStream => "sse_mem",
            Self::PersistTax => "persist_tax",
            Self::ProgramCost => "program_cost",
            Self::History(page) => HISTORY_PAGES[page].name,
            Self::HistoryMiddle => "history_middle",
        }
    }

    /// What it is told in; nothing for a ratio.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::TurnTtft | Self::TurnTtft32 | Self::TransitP99 | Self::TransitMax | Self::History(_) => "ms",
            Self::CpuPerToken => "µs",
            Self::LoadMemory => "MiB",
            Self::SaturatedTokens => "tokens/s",
            Self::IdleStream => "KiB",
            Self::PersistTax | Self::ProgramCost | Self::HistoryMiddle => "",
        }
    }

    /// Whether more is better.
    pub(crate) fn wants_more(self) -> bool {
        self == Self::SaturatedTokens
    }
}
