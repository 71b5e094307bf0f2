//! Names and units of the results.

use std::borrow::Cow;

use super::cost::Cost;
use crate::{history_pages::HISTORY_PAGES, searches::SEARCHES};

/// A measured quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Measure {
    TurnTtft,
    TurnTtft32,
    TurnSwitches,
    TurnReadsAndWrites,
    TurnPages,
    TurnStatements,
    TurnTransactions,
    ToolTurns,
    TransitP99,
    TransitMax,
    CpuPerToken,
    TokenSwitches,
    TokenReadsAndWrites,
    LoadMemory,
    SaturatedTokens,
    IdleStream,
    PersistTax,
    ProgramCost,
    /// A page of the tool history, by its index in [`HISTORY_PAGES`].
    History(usize),
    HistoryMiddle,
    /// A search, by its indexes in [`SEARCHES`] and in its names.
    Search(usize, usize),
    /// A cost at a number of stored messages or open streams.
    Growth(Cost, u64),
}

/// One result of one peer.
pub(crate) type Taken = (Measure, f64);

impl Measure {
    /// Returns its name in tables and files.
    pub(crate) fn name(self) -> Cow<'static, str> {
        Cow::Borrowed(match self {
            Self::TurnTtft => "turn_ttft",
            Self::TurnTtft32 => "turn_ttft_32",
            Self::TurnSwitches => "turn_switches",
            Self::TurnReadsAndWrites => "turn_reads_and_writes",
            Self::TurnPages => "turn_pages",
            Self::TurnStatements => "turn_statements",
            Self::TurnTransactions => "turn_transactions",
            Self::ToolTurns => "tool_turns",
            Self::TransitP99 => "token_transit_p99",
            Self::TransitMax => "token_transit_max",
            Self::CpuPerToken => "cpu_per_token",
            Self::TokenSwitches => "token_switches",
            Self::TokenReadsAndWrites => "token_reads_and_writes",
            Self::LoadMemory => "load_mem",
            Self::SaturatedTokens => "sat_tokens",
            Self::IdleStream => "sse_mem",
            Self::PersistTax => "persist_tax",
            Self::ProgramCost => "program_cost",
            Self::History(page) => HISTORY_PAGES[page].name,
            Self::HistoryMiddle => "history_middle",
            Self::Search(search, size) => SEARCHES[search].names[size],
            Self::Growth(cost, size) => return Cow::Owned(format!("{}_{size}", cost.name())),
        })
    }

    /// Returns its unit; empty for a ratio.
    pub(crate) fn unit(self) -> &'static str {
        match self {
            Self::TurnTtft
            | Self::TurnTtft32
            | Self::TransitP99
            | Self::TransitMax
            | Self::History(_)
            | Self::Search(..) => "ms",
            Self::CpuPerToken => "µs",
            Self::LoadMemory => "MiB",
            Self::SaturatedTokens => "tokens/s",
            Self::ToolTurns => "turns/s",
            Self::TurnSwitches
            | Self::TurnReadsAndWrites
            | Self::TurnPages
            | Self::TurnStatements
            | Self::TurnTransactions => "per turn",
            Self::TokenSwitches | Self::TokenReadsAndWrites => "per token",
            Self::IdleStream => "KiB",
            Self::Growth(cost, _) => cost.unit(),
            Self::PersistTax | Self::ProgramCost | Self::HistoryMiddle => "",
        }
    }

    /// Returns `true` if higher is better.
    pub(crate) fn wants_more(self) -> bool {
        matches!(self, Self::SaturatedTokens | Self::ToolTurns)
    }
}
