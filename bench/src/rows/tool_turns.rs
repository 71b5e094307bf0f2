//! Measures how many turns with a tool call a server completes per second, in batches of 16 concurrent turns.

use std::time::{Duration, Instant};

use anyhow::Result;
use futures_util::future::try_join_all;

use crate::{
    ask::{ask, client},
    peer::Peer,
    report::{Measure, Taken, count},
    workload::Workload,
};

const TURN: Workload = Workload { tokens: 200, gap: Duration::ZERO, uses_tool: true, is_numbered: false };

const CLIENTS: usize = 16;

pub(super) async fn measure(peer: &Peer, quick: bool) -> Result<Vec<Taken>> {
    let client = client()?;
    let batches = if quick { 1 } else { 8 };
    let mut took = Duration::ZERO;
    for batch in 0..=batches {
        let requests = try_join_all((0..CLIENTS).map(|_| peer.turn(&client, TURN))).await?;
        let began = Instant::now();
        try_join_all(requests.into_iter().map(|request| ask(request, TURN.tokens))).await?;
        if batch > 0 {
            took += began.elapsed();
        }
    }
    Ok(vec![(Measure::ToolTurns, count(CLIENTS * batches) / took.as_secs_f64())])
}
