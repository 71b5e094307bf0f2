//! Measures the time to the first token of a turn in which the model first calls a tool.

use std::time::Duration;

use anyhow::Result;
use futures_util::future::try_join_all;
use reqwest::Client;

use crate::{
    ask::{ask, client},
    peer::Peer,
    report::{Measure, Taken, median},
    workload::Workload,
};

const TURN: Workload = Workload::TOOL_TURN;

/// Turns before the measured ones: the first turns fill pools and read pages from disk.
pub(super) const WARM_UP: usize = 5;

/// Measures turns one after the other.
pub(super) async fn one(peer: &Peer, quick: bool) -> Result<Vec<Taken>> {
    let client = client()?;
    sequential(peer, &client, WARM_UP).await?;
    let mut firsts = sequential(peer, &client, if quick { 2 } else { 40 }).await?;
    Ok(vec![(Measure::TurnTtft, median(&mut firsts))])
}

/// Runs this number of turns one after the other. Returns the time to the first token of each, in milliseconds.
pub(super) async fn sequential(peer: &Peer, client: &Client, turns: usize) -> Result<Vec<f64>> {
    let mut firsts = Vec::new();
    for _ in 0..turns {
        let request = peer.turn(client, TURN).await?;
        firsts.push(milliseconds(ask(request, TURN.tokens).await?.first));
    }
    Ok(firsts)
}

/// Measures many concurrent turns.
pub(super) async fn many(peer: &Peer, quick: bool) -> Result<Vec<Taken>> {
    let client = client()?;
    let (clients, batches) = if quick { (4, 1) } else { (32, 5) };
    let mut firsts = Vec::new();
    for batch in 0..=batches {
        let requests = try_join_all((0..clients).map(|_| peer.turn(&client, TURN))).await?;
        let seen = try_join_all(requests.into_iter().map(|request| ask(request, TURN.tokens))).await?;
        if batch > 0 {
            firsts.extend(seen.iter().map(|seen| milliseconds(seen.first)));
        }
    }
    Ok(vec![(Measure::TurnTtft32, median(&mut firsts))])
}

pub(crate) fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
