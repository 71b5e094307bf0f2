//! Counts what a turn with a tool call costs besides time: thread switches, calls of `read` and `write`, pages written
//! to files, and statements and transactions of the database.

use anyhow::{Context as _, Result};
use reqwest::Client;

use crate::{
    ask::{ask, client},
    peer::Peer,
    report::{Measure, Taken, per},
    workload::Workload,
};

const TURN: Workload = Workload::TOOL_TURN;

/// Turns before the counted ones: the first turns fill pools and read pages from disk.
const WARM_UP: usize = 5;

/// Counts since a server has started.
struct Counts {
    switches: u64,
    reads_and_writes: u64,
    pages: u64,
    /// Statements and transactions, if the server counts them.
    database: Option<(f64, f64)>,
}

impl Counts {
    async fn of(peer: &Peer, client: &Client) -> Result<Self> {
        Ok(Self {
            switches: peer.process.thread_switches()?,
            reads_and_writes: peer.process.reads_and_writes()?,
            pages: peer.process.pages_written()?,
            database: database_counts(peer, client).await?,
        })
    }
}

/// Counts one turn after the other.
pub(super) async fn measure(peer: &Peer, quick: bool) -> Result<Vec<Taken>> {
    let client = client()?;
    for _ in 0..WARM_UP {
        ask(peer.turn(&client, TURN).await?, TURN.tokens).await?;
    }
    let turns = if quick { 2 } else { 40 };
    let mut requests = Vec::new();
    for _ in 0..turns {
        requests.push(peer.turn(&client, TURN).await?);
    }
    let before = Counts::of(peer, &client).await?;
    for request in requests {
        ask(request, TURN.tokens).await?;
    }
    let after = Counts::of(peer, &client).await?;
    #[expect(clippy::cast_precision_loss, reason = "counts of some thousands")]
    let of_turn = |before: u64, after: u64| per(after.saturating_sub(before) as f64, turns);
    let mut taken = vec![
        (Measure::TurnSwitches, of_turn(before.switches, after.switches)),
        (Measure::TurnReadsAndWrites, of_turn(before.reads_and_writes, after.reads_and_writes)),
        (Measure::TurnPages, of_turn(before.pages, after.pages)),
    ];
    if let (Some(before), Some(after)) = (before.database, after.database) {
        taken.push((Measure::TurnStatements, per(after.0 - before.0, turns)));
        taken.push((Measure::TurnTransactions, per(after.1 - before.1, turns)));
    }
    Ok(taken)
}

/// Returns the statements and the transactions of Tallybook from its metrics; `None` for another peer.
async fn database_counts(peer: &Peer, client: &Client) -> Result<Option<(f64, f64)>> {
    if !peer.kind.is_ours() {
        return Ok(None);
    }
    let url = format!("http://{}/metrics", peer.process.address);
    let metrics = client.get(url).send().await?.error_for_status()?.text().await?;
    let value = |name: &str| {
        let value = metrics.lines().find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        value.with_context(|| format!("/metrics has no {name}"))
    };
    Ok(Some((value("tallybook_database_statements_total ")?, value("tallybook_database_transactions_total ")?)))
}
