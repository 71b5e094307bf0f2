//! Measures the throughput when 16 turns run at a time as fast as they can: tokens per second, and turns with a tool
//! call per second.

use std::time::{Duration, Instant};

use anyhow::Result;
use futures_util::future::try_join_all;

use crate::{
    ask::{ask, client},
    peer::{Kind, Peer},
    report::{Measure, Taken, count},
    workload::Workload,
};

/// Number of turns that run at a time.
const TURNS: usize = 16;

/// Measures tokens per second.
pub(super) async fn tokens(peer: &Peer, quick: bool) -> Result<Vec<Taken>> {
    let (tokens, batches) = match (quick, peer.kind) {
        (true, _) => (50, 1),
        // More would take minutes.
        (false, Kind::LangGraph) => (500, 2),
        (false, _) => (5000, 4),
    };
    let workload = Workload { tokens, gap: Duration::ZERO, uses_tool: false, is_numbered: false };
    let took = time_batches(peer, workload, batches).await?;
    Ok(vec![(Measure::SaturatedTokens, count(TURNS * tokens * batches) / took.as_secs_f64())])
}

/// Measures turns with a tool call per second.
pub(super) async fn tool_turns(peer: &Peer, quick: bool) -> Result<Vec<Taken>> {
    let batches = if quick { 1 } else { 8 };
    let took = time_batches(peer, Workload::TOOL_TURN, batches).await?;
    Ok(vec![(Measure::ToolTurns, count(TURNS * batches) / took.as_secs_f64())])
}

/// Returns how long `batches` batches of turns take, after one that does not count.
async fn time_batches(peer: &Peer, workload: Workload, batches: usize) -> Result<Duration> {
    let client = client()?;
    let mut took = Duration::ZERO;
    for batch in 0..=batches {
        let requests = try_join_all((0..TURNS).map(|_| peer.turn(&client, workload))).await?;
        let began = Instant::now();
        try_join_all(requests.into_iter().map(|request| ask(request, workload.tokens))).await?;
        if batch > 0 {
            took += began.elapsed();
        }
    }
    Ok(took)
}
