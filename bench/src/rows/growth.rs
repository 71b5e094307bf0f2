//! Measures how costs grow with the number of stored messages of a user, and with the number of open streams.
//!
//! With stored messages: the first page of the conversation list, a search for a rare word, opening a conversation, the
//! first token of a turn, and the CPU time of a turn. With open streams: the CPU time of a token, and the first token of
//! another turn. All streams together have the same number of tokens per second, so only their number differs.

use std::{
    future::ready,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result, bail};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use reqwest::{Client, Response};
use serde_json::Value;
use tokio::{
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    first_token::{WARM_UP, sequential},
    repeated::median_time,
    search,
};
use crate::{
    ask::client,
    listen::say,
    mark,
    peer::{Peer, open_idle},
    report::{Cost, Measure, Taken, median, per},
    searches::SEARCHES,
    workload::Workload,
};

/// Numbers of messages.
const MESSAGES: [u64; 3] = [1_000, 10_000, 100_000];
const QUICK_MESSAGES: [u64; 2] = [100, 1_000];

/// Number of messages that is measured only on request, because generating them takes minutes.
const MILLION: u64 = 1_000_000;

/// Numbers of streams.
const STREAMS: [u64; 5] = [1, 10, 100, 1_000, 5_000];
const QUICK_STREAMS: [u64; 2] = [1, 10];

/// Open files of the server that streams do not need: the database, and the connections of other turns.
const OTHER_FILES: u64 = 1_024;

/// Number of streams that are opened concurrently.
const AT_ONCE: usize = 64;

/// Pause of each stream between two tokens, multiplied by the number of streams: 1,000 tokens per second in total.
const GAP: Duration = Duration::from_millis(1);

/// Duration of the answers: a fixed part, and the time to open one stream, multiplied by the number of streams. The sum
/// must be less than a turn's timeout.
const ANSWER_TIME: Duration = Duration::from_mins(1);
const OPENING_TIME: Duration = Duration::from_millis(30);

/// Pause after the last stream is opened.
const SETTLE_TIME: Duration = Duration::from_secs(1);

/// Returns the numbers of stored messages to measure.
pub(super) fn messages(quick: bool, million: bool) -> Vec<u64> {
    if quick {
        return QUICK_MESSAGES.to_vec();
    }
    MESSAGES.into_iter().chain(million.then_some(MILLION)).collect()
}

/// Returns the numbers of open streams to measure: those that the limit of open files allows.
pub(super) fn streams(quick: bool) -> Result<Vec<u64>> {
    let files = rlimit::Resource::NOFILE.get_soft().context("cannot read the limit of open files")?;
    let all = if quick { &QUICK_STREAMS[..] } else { &STREAMS };
    let (allowed, refused): (Vec<u64>, Vec<u64>) = all.iter().partition(|&&streams| needed_files(streams) <= files);
    for streams in refused {
        let needed = needed_files(streams);
        say(&format!(
            "{streams} streams are skipped: they need {needed} open files, and the limit is {files}; raise it with \
             `ulimit -Hn {needed}`"
        ));
    }
    Ok(allowed)
}

/// Returns the number of files that the server opens: a stream is a connection to the client and one to the model.
fn needed_files(streams: u64) -> u64 {
    streams * 2 + OTHER_FILES
}

/// Measures a server that stores this number of messages of its user.
pub(super) async fn of_messages(peer: &Peer, messages: u64, quick: bool) -> Result<Vec<Taken>> {
    let client = client()?;
    let (requests, turns) = if quick { (2, 2) } else { (30, 100) };
    let rare = SEARCHES.first().context("no search is measured")?;
    let found = search::run(&client, peer, rare).await?;
    // The message is the middle one, so its conversation is as old at each number of messages.
    let uuid = found.first().and_then(|hit| hit["conversation_uuid"].as_str()).context("the search found nothing")?;
    let base = format!("http://{}/api/conversations", peer.process.address);
    let conversation = format!("{base}/{uuid}");

    let list = median_time(requests, async || read(&client, &base, "items").await).await?;
    let search = median_time(requests, async || search::run(&client, peer, rare).await.map(drop)).await?;
    let open = median_time(requests, async || read(&client, &conversation, "messages").await).await?;
    sequential(peer, &client, WARM_UP).await?;
    let before = peer.process.cpu_time()?;
    let mut firsts = sequential(peer, &client, turns).await?;
    let cpu = peer.process.cpu_time()?.saturating_sub(before);
    let costs = [
        (Cost::List, list),
        (Cost::Search, search),
        (Cost::Open, open),
        (Cost::TurnTtft, median(&mut firsts)),
        (Cost::TurnCpu, per(cpu.as_secs_f64() * 1e3, turns)),
    ];
    Ok(costs.map(|(cost, value)| (Measure::Growth(cost, messages), value)).to_vec())
}

/// Requests JSON whose field `list` must not be empty.
async fn read(client: &Client, url: &str, list: &str) -> Result<()> {
    let body: Value = client.get(url).send().await?.error_for_status()?.json().await?;
    if body[list].as_array().is_none_or(Vec::is_empty) {
        bail!("{url} has no {list}");
    }
    Ok(())
}

/// Opens this number of answering streams, and measures beside them.
pub(super) async fn of_streams(peer: &Peer, streams: u64, quick: bool) -> Result<Vec<Taken>> {
    let client = client()?;
    let (window, turns) = if quick { (Duration::from_secs(1), 2) } else { (Duration::from_secs(10), 40) };
    let tokens = Arc::new(AtomicUsize::new(0));
    let mut readers = open_answers(peer, &client, streams, &tokens).await?;
    sleep(SETTLE_TIME).await;

    let (cpu, arrived) = (peer.process.cpu_time()?, tokens.load(Ordering::Relaxed));
    sleep(window).await;
    let cpu = peer.process.cpu_time()?.saturating_sub(cpu);
    let arrived = tokens.load(Ordering::Relaxed) - arrived;
    sequential(peer, &client, WARM_UP).await?;
    let mut firsts = sequential(peer, &client, turns).await?;
    if let Some(ended) = readers.try_join_next() {
        ended?.context("a stream failed")?;
        bail!("a stream ended before the measurement");
    }
    if arrived == 0 {
        bail!("no token arrived within {} s", window.as_secs());
    }
    let costs = [(Cost::TokenCpu, per(cpu.as_secs_f64() * 1e6, arrived)), (Cost::StreamsTtft, median(&mut firsts))];
    Ok(costs.map(|(cost, value)| (Measure::Growth(cost, streams), value)).to_vec())
}

/// Opens this number of answering streams. Returns their readers, which add their tokens to `tokens`.
async fn open_answers(
    peer: &Peer,
    client: &Client,
    streams: u64,
    tokens: &Arc<AtomicUsize>,
) -> Result<JoinSet<Result<()>>> {
    let count = u32::try_from(streams)?;
    let (gap, duration) = (GAP * count, ANSWER_TIME + OPENING_TIME * count);
    let length = usize::try_from(duration.as_millis() / gap.as_millis().max(1))?;
    let workload = Workload { tokens: length, gap, uses_tool: false, is_numbered: false };
    let mut readers = JoinSet::new();
    let opening = stream::iter(0..streams)
        .map(async |_| open_idle(peer.turn(client, workload).await?).await)
        .buffer_unordered(AT_ONCE)
        .try_for_each(|response| {
            readers.spawn(count_tokens(response, Arc::clone(tokens)));
            ready(Ok(()))
        });
    timeout(duration, opening).await.with_context(|| format!("{streams} streams did not start in time"))??;
    Ok(readers)
}

/// Reads an answer to its end, and counts its tokens.
async fn count_tokens(response: Response, tokens: Arc<AtomicUsize>) -> Result<()> {
    let (mut chunks, mut marks) = (response.bytes_stream(), mark::Reader::default());
    while let Some(chunk) = chunks.next().await {
        marks.read(&chunk?, |_| {
            tokens.fetch_add(1, Ordering::Relaxed);
        });
    }
    Ok(())
}
