//! The kinds of peers, by name.

use clap::ValueEnum;
use serde::Serialize;

/// A kind of peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// Bytes copied from one socket to another.
    Pump,
    /// A minimal relay in actix-web and reqwest.
    Floor,
    /// `LangGraph` and `FastAPI`, with `SQLite`.
    #[value(name = "langgraph")]
    #[serde(rename = "langgraph")]
    LangGraph,
    /// Tallybook with its embedded database.
    Sqlite,
    /// Tallybook with MySQL.
    Mysql,
}

impl Kind {
    /// Returns `true` for Tallybook, and `false` for the peers that it is compared with.
    pub(crate) fn is_ours(self) -> bool {
        matches!(self, Self::Sqlite | Self::Mysql)
    }

    /// Returns the name in tables.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pump => "pass-through",
            Self::Floor => "floor",
            Self::LangGraph => "LangGraph",
            Self::Sqlite => "ours, SQLite",
            Self::Mysql => "ours, MySQL",
        }
    }
}
