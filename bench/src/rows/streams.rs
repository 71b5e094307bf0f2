//! Measures 32 readers of answers that are written at 100 tokens per second: the 99th percentile and the maximum of a
//! token's delay, the CPU time, the thread switches and the system calls of the server per token, and its memory.

use std::time::Duration;

use anyhow::Result;
use futures_util::future::try_join_all;

use super::first_token::milliseconds;
use crate::{
    ask::{ask, client},
    peer::Peer,
    report::{Measure, Taken, per, percentile},
    workload::Workload,
};

pub(super) async fn measure(peer: &Peer, quick: bool) -> Result<Vec<Taken>> {
    let client = client()?;
    let (streams, tokens) = if quick { (4, 20) } else { (32, 1000) };
    let workload = Workload { tokens, gap: Duration::from_millis(10), uses_tool: false, is_numbered: false };
    let warm_up = Workload { tokens: tokens / 10, ..workload };
    let mut transits = Vec::new();
    let (mut cpu, mut switches, mut calls) = (Duration::ZERO, 0, 0);
    for workload in [warm_up, workload] {
        let requests = try_join_all((0..streams).map(|_| peer.turn(&client, workload))).await?;
        let process = &peer.process;
        let before = (process.cpu_time()?, process.thread_switches()?, process.reads_and_writes()?);
        let seen = try_join_all(requests.into_iter().map(|request| ask(request, workload.tokens))).await?;
        cpu = process.cpu_time()?.saturating_sub(before.0);
        switches = process.thread_switches()?.saturating_sub(before.1);
        calls = process.reads_and_writes()?.saturating_sub(before.2);
        transits = seen.iter().flat_map(|seen| &seen.transits).map(|&transit| milliseconds(transit)).collect();
    }
    let micros = cpu.as_secs_f64() * 1e6;
    Ok(vec![
        (Measure::TransitP99, percentile(&mut transits, 0.99)),
        (Measure::TransitMax, percentile(&mut transits, 1.0)),
        (Measure::CpuPerToken, per(micros, streams * tokens)),
        (Measure::TokenSwitches, per(as_float(switches), streams * tokens)),
        (Measure::TokenReadsAndWrites, per(as_float(calls), streams * tokens)),
        (Measure::LoadMemory, per(mebibytes(peer.process.memory()?), 1)),
    ])
}

pub(crate) fn mebibytes(bytes: u64) -> f64 {
    as_float(bytes) / 1024.0 / 1024.0
}

#[expect(clippy::cast_precision_loss, reason = "bytes and counts of a process are less than 2^52")]
fn as_float(number: u64) -> f64 {
    number as f64
}
