//! Measures the tool history with two million calls: the newest page, pages with various filters, the slowest calls,
//! searches, and the statistics of a day, a week, and a month. Also measures whether a page from the middle costs more
//! than the newest page.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use reqwest::Client;

use super::first_token::milliseconds;
use crate::{
    ask::client,
    history_pages::{FROM_MIDDLE, HISTORY_PAGES, NEWEST},
    listen::say,
    peer::Peer,
    report::{Measure, Taken, median},
};

/// Returns the number of calls.
pub(crate) fn tool_calls(quick: bool) -> u64 {
    if quick { 2_000 } else { 2_000_000 }
}

/// Number of searches, because each takes a second.
const SEARCHES: usize = 5;

/// Timeout for the server to count the hours of a month.
const COUNTING_TIME: Duration = Duration::from_mins(15);

/// Text on a page of statistics if some of its hours are not counted yet.
const NOT_COUNTED: &str = "still being counted";

pub(super) async fn measure(peer: &Peer, quick: bool) -> Result<Vec<Taken>> {
    let client = client()?;
    wait_until_counted(&client, peer).await?;
    let pages = if quick { 2 } else { 30 };
    let mut taken = HISTORY_PAGES.map(|_| Vec::new());
    for number in 0..=pages {
        // Requests the pages in turns, so that other load affects all alike.
        for (page, taken) in HISTORY_PAGES.iter().zip(&mut taken) {
            if page.goal_ms >= 1000.0 && number > SEARCHES {
                continue;
            }
            let asked = Instant::now();
            read(&client, peer, page.address).await?;
            // The first round only warms up.
            if number > 0 {
                taken.push(milliseconds(asked.elapsed()));
            }
        }
    }
    let medians = taken.map(|mut taken| median(&mut taken));
    let middle = (Measure::HistoryMiddle, medians[FROM_MIDDLE] / medians[NEWEST]);
    let all = medians.into_iter().enumerate().map(|(page, median)| (Measure::History(page), median));
    Ok(all.chain([middle]).collect())
}

/// Waits until the server has counted all hours for its statistics, which it does once.
async fn wait_until_counted(client: &Client, peer: &Peer) -> Result<()> {
    let began = Instant::now();
    while read(client, peer, "/admin/figures?range=30d").await?.contains(NOT_COUNTED) {
        if began.elapsed() > COUNTING_TIME {
            bail!("the hours are not counted after {} minutes", COUNTING_TIME.as_secs() / 60);
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
    }
    say(&format!("  the hours were counted after {} s", began.elapsed().as_secs()));
    Ok(())
}

/// Requests a page of the history.
async fn read(client: &Client, peer: &Peer, address: &str) -> Result<String> {
    let response = client.get(format!("http://{}{address}", peer.process.address)).send().await?;
    let status = response.status();
    let text = response.text().await?;
    if !status.is_success() || !text.contains("</html>") {
        bail!("{address} answers {status}");
    }
    Ok(text)
}
