//! Measures the memory of an idle stream.

use anyhow::Result;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};

use super::streams::mebibytes;
use crate::{
    ask::client,
    peer::{Peer, open_idle},
    report::{Measure, Taken, per},
};

/// Number of streams that are opened concurrently.
const AT_ONCE: usize = 64;

pub(super) async fn measure(peer: &Peer, quick: bool) -> Result<Vec<Taken>> {
    let streams = if quick { 50 } else { 5000 };
    let client = client()?;
    // The first stream pays for what the server allocates only once.
    let first = open_idle(peer.idle(&client)).await?;
    let before = peer.process.memory()?;
    let open_all = stream::iter((0..streams).map(|_| open_idle(peer.idle(&client)))).buffer_unordered(AT_ONCE);
    let held: Vec<_> = open_all.try_collect().await?;
    let grown = peer.process.memory()?.saturating_sub(before);
    drop((first, held));
    Ok(vec![(Measure::IdleStream, per(mebibytes(grown) * 1024.0, streams))])
}
