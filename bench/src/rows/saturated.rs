//! Measures the throughput in tokens per second when 16 streams run as fast as they can.

use std::time::{Duration, Instant};

use anyhow::Result;
use futures_util::future::try_join_all;

use crate::{
    ask::{ask, client},
    peer::{Kind, Peer},
    report::{Measure, Taken, count},
    workload::Workload,
};

const STREAMS: usize = 16;

pub(super) async fn measure(peer: &Peer, quick: bool) -> Result<Vec<Taken>> {
    let client = client()?;
    let (tokens, batches) = match (quick, peer.kind) {
        (true, _) => (50, 1),
        // More would take minutes.
        (false, Kind::LangGraph) => (500, 2),
        (false, _) => (5000, 4),
    };
    let workload = Workload { tokens, gap: Duration::ZERO, uses_tool: false, is_numbered: false };
    let mut took = Duration::ZERO;
    for batch in 0..=batches {
        let requests = try_join_all((0..STREAMS).map(|_| peer.turn(&client, workload))).await?;
        let began = Instant::now();
        try_join_all(requests.into_iter().map(|request| ask(request, tokens))).await?;
        if batch > 0 {
            took += began.elapsed();
        }
    }
    Ok(vec![(Measure::SaturatedTokens, count(STREAMS * tokens * batches) / took.as_secs_f64())])
}
