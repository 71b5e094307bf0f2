//! Measures the cost of the API for clients: the CPU time of the server for a turn through `/v1/chat/completions`,
//! divided by that for the same turn through the API of the page.

use std::time::Duration;

use anyhow::Result;

use crate::{
    ask::{ask, client},
    peer::Peer,
    report::{Measure, Taken},
    workload::Workload,
};

const TURN: Workload = Workload::TOOL_TURN;

pub(super) async fn measure(peer: &Peer, quick: bool) -> Result<Vec<Taken>> {
    let client = client()?;
    let turns = if quick { 2 } else { 100 };
    let (mut of_page, mut of_programs) = (Duration::ZERO, Duration::ZERO);
    // The first round warms the server up. The two kinds take turns.
    for number in 0..=turns {
        let begin = peer.process.cpu_time()?;
        ask(peer.turn(&client, TURN).await?, TURN.tokens).await?;
        let between = peer.process.cpu_time()?;
        ask(peer.program_turn(&client, TURN), TURN.tokens).await?;
        let end = peer.process.cpu_time()?;
        if number > 0 {
            of_page += between.saturating_sub(begin);
            of_programs += end.saturating_sub(between);
        }
    }
    // The kernel counts hundredths of a second.
    let of_page = of_page.max(Duration::from_millis(10));
    Ok(vec![(Measure::ProgramCost, of_programs.as_secs_f64() / of_page.as_secs_f64())])
}
