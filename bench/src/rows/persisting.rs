//! Measures the cost of storing: the CPU time of the server per token of a stored answer, divided by that of an answer
//! that is not stored. The latter is an API client's direct model call. Its text takes the same way from the model to
//! the client, but without a turn, so only its usage is stored, at the end.

use std::time::Duration;

use anyhow::Result;
use futures_util::future::try_join_all;
use reqwest::RequestBuilder;

use crate::{
    ask::{ask, client},
    peer::Peer,
    report::{Measure, Taken},
    workload::Workload,
};

pub(super) async fn measure(peer: &Peer, quick: bool) -> Result<Vec<Taken>> {
    let client = client()?;
    let (streams, tokens) = if quick { (2, 50) } else { (16, 2000) };
    let workload = Workload { tokens, gap: Duration::from_millis(5), uses_tool: false, is_numbered: false };
    let turns = || try_join_all((0..streams).map(|_| peer.turn(&client, workload)));
    let plain = || (0..streams).map(|_| peer.plain(&client, workload)).collect();
    // Warms the server up.
    cpu_of(peer, turns().await?, tokens).await?;
    let stored = cpu_of(peer, turns().await?, tokens).await?;
    let unstored = cpu_of(peer, plain(), tokens).await?;
    // The kernel counts hundredths of a second.
    let unstored = unstored.max(Duration::from_millis(10));
    Ok(vec![(Measure::PersistTax, stored.as_secs_f64() / unstored.as_secs_f64())])
}

/// Returns the CPU time of the server for these answers.
async fn cpu_of(peer: &Peer, requests: Vec<RequestBuilder>, tokens: usize) -> Result<Duration> {
    let before = peer.process.cpu_time()?;
    try_join_all(requests.into_iter().map(|request| ask(request, tokens))).await?;
    Ok(peer.process.cpu_time()?.saturating_sub(before))
}
