//! What memory a stream takes on which nothing happens.

use std::time::Duration;

use anyhow::{Context as _, Result};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use tokio::time::timeout;

use super::{Taken, streams::mebibytes};
use crate::{
    ask::client,
    peer::Peer,
    report::{Measure, per},
};

/// Streams that are opened at the same time.
const AT_ONCE: usize = 64;

/// How long one may take to begin.
const PATIENCE: Duration = Duration::from_secs(20);

pub(super) async fn measure(peer: &Peer, quick: bool) -> Result<Vec<Taken>> {
    let streams = if quick { 50 } else { 5000 };
    let client = client()?;
    // What is made once for all of them is not theirs.
    let first = open(peer, &client).await?;
    let before = peer.process.memory()?;
    let open_all = stream::iter((0..streams).map(|_| open(peer, &client))).buffer_unordered(AT_ONCE);
    let held: Vec<_> = open_all.try_collect().await?;
    let grown = peer.process.memory()?.saturating_sub(before);
    drop((first, held));
    Ok(vec![(Measure::IdleStream, per(mebibytes(grown) * 1024.0, streams))])
}

/// A stream that has begun.
async fn open(peer: &Peer, client: &reqwest::Client) -> Result<reqwest::Response> {
    let begin = async {
        let mut response = peer.idle(client).send().await?.error_for_status()?;
        response.chunk().await?;
        anyhow::Ok(response)
    };
    timeout(PATIENCE, begin).await.context("a stream did not begin")?
}
