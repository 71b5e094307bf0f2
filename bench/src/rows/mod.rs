//! The measured rows. Each row is measured in rounds, with every peer once per round, so that other load on the machine
//! affects all peers alike.

mod first_token;
mod growth;
mod history;
mod idle;
mod persisting;
mod programs;
mod repeated;
mod saturated;
mod search;
mod streams;
mod turn_costs;

use anyhow::{Context as _, Result};
use clap::ValueEnum;

pub(crate) use self::{first_token::milliseconds, streams::mebibytes};
use crate::{
    listen::say,
    peer::{Kind, Peer, Programs},
    report::{Figures, Taken, said},
    searches,
};

/// A row of measurements that are taken together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Row {
    /// Time to the first token of a turn with a tool call, with one client
    #[value(name = "turn_ttft")]
    TurnTtft,
    /// Time to the first token of a turn with a tool call, with 32 concurrent clients
    #[value(name = "turn_ttft_32")]
    TurnTtft32,
    /// Thread switches, reads and writes, statements and transactions of a turn with a tool call
    #[value(name = "turn_costs")]
    TurnCosts,
    /// Turns with a tool call per second, in batches of 16 concurrent turns
    #[value(name = "tool_turns")]
    ToolTurns,
    /// 32 streams of 100 tokens per second: delay of a token, CPU time per token, and memory
    #[value(name = "token_transit_p99", alias = "cpu_per_token", alias = "load_mem")]
    Streams,
    /// Throughput of 16 streams that run as fast as they can
    #[value(name = "sat_tokens")]
    Saturated,
    /// Memory of an idle stream
    #[value(name = "sse_mem")]
    Idle,
    /// Cost of storing an answer of 2000 tokens
    #[value(name = "persist_tax")]
    Persisting,
    /// Cost of an API client's turn, relative to a turn of the page
    #[value(name = "program_cost")]
    Programs,
    /// Pages and statistics of a history of two million tool calls, with various filters
    #[value(name = "history")]
    History,
    /// Searches of 1,000, of 10,000 and of 100,000 messages
    #[value(name = "search")]
    Search,
    /// Growth of costs with the number of stored messages, and with the number of open streams
    #[value(name = "growth")]
    Growth,
}

/// The amount of measurements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Amount {
    /// Number of rounds; at least one is measured.
    pub(crate) rounds: usize,
    /// `true` for little data.
    pub(crate) quick: bool,
    /// `true` if [`Row::Growth`] also measures a million messages.
    pub(crate) million: bool,
}

/// The generated content of a database.
#[derive(Clone, Copy, Debug)]
enum Content {
    Empty,
    /// This number of tool calls.
    ToolCalls(u64),
    /// As many messages as this index of [`searches::SIZES`] says.
    Messages(usize),
    /// This number of messages, in a database to which turns are added.
    Growing(u64),
    /// Empty, for measuring this number of streams.
    Streams(u64),
}

impl Row {
    pub(crate) fn all() -> Vec<Self> {
        Self::value_variants().to_vec()
    }

    fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    /// Returns `true` if this peer supports the row.
    fn concerns(self, kind: Kind) -> bool {
        match self {
            Self::Persisting | Self::Programs | Self::History | Self::Search | Self::Growth => kind.is_ours(),
            _ => true,
        }
    }

    /// Returns the contents of the databases of Tallybook with which the row is measured.
    fn contents(self, Amount { quick, million, .. }: Amount) -> Result<Vec<Content>> {
        Ok(match self {
            Self::History => vec![Content::ToolCalls(history::tool_calls(quick))],
            Self::Search if quick => vec![Content::Messages(0)],
            Self::Search => (0..searches::SIZES.len()).map(Content::Messages).collect(),
            Self::Growth => {
                let messages = growth::messages(quick, million).into_iter().map(Content::Growing);
                messages.chain(growth::streams(quick)?.into_iter().map(Content::Streams)).collect()
            }
            _ => vec![Content::Empty],
        })
    }

    async fn measure(self, peer: &Peer, content: Content, quick: bool) -> Result<Vec<Taken>> {
        match self {
            Self::TurnTtft => first_token::one(peer, quick).await,
            Self::TurnTtft32 => first_token::many(peer, quick).await,
            Self::TurnCosts => turn_costs::measure(peer, quick).await,
            Self::ToolTurns => saturated::tool_turns(peer, quick).await,
            Self::Streams => streams::measure(peer, quick).await,
            Self::Saturated => saturated::tokens(peer, quick).await,
            Self::Idle => idle::measure(peer, quick).await,
            Self::Persisting => persisting::measure(peer, quick).await,
            Self::Programs => programs::measure(peer, quick).await,
            Self::History => history::measure(peer, quick).await,
            Self::Search => {
                let Content::Messages(size) = content else { return Ok(Vec::new()) };
                search::measure(peer, size, quick).await
            }
            Self::Growth => match content {
                Content::Growing(messages) => growth::of_messages(peer, messages, quick).await,
                Content::Streams(streams) => growth::of_streams(peer, streams, quick).await,
                _ => Ok(Vec::new()),
            },
        }
    }
}

/// Measures these rows for these peers.
pub(crate) async fn measure(programs: &Programs, kinds: &[Kind], rows: &[Row], amount: Amount) -> Result<Figures> {
    let mut figures = Figures::default();
    let rounds = amount.rounds.max(1);
    for &row in rows {
        for round in 1..=rounds {
            for &kind in kinds.iter().filter(|&&kind| row.concerns(kind)) {
                say(&format!("{}, round {round} of {rounds}: {}", row.name(), kind.name()));
                for content in row.contents(amount)? {
                    let peer = start(programs, kind, content)?;
                    let taken = Box::pin(row.measure(&peer, content, amount.quick)).await;
                    for (measure, value) in taken.with_context(|| format!("{} of {}", row.name(), kind.name()))? {
                        say(&format!("  {}: {} {}", measure.name(), said(value), measure.unit()));
                        figures.add(measure, kind, value);
                    }
                }
            }
        }
    }
    Ok(figures)
}

/// Starts a peer with this content.
fn start(programs: &Programs, kind: Kind, content: Content) -> Result<Peer> {
    match content {
        Content::Empty | Content::Streams(_) => programs.start(kind),
        Content::ToolCalls(count) => programs.start_with("history", "--tool-calls", count, kind),
        Content::Messages(size) => programs.start_with("messages", "--messages", searches::SIZES[size], kind),
        Content::Growing(count) => programs.start_with("growth", "--messages", count, kind),
    }
}
