//! The tool history with two million calls: whether a page from its middle costs more than the newest, and how long a search
//! for a word takes that stands nowhere, until there is a page that says how far it came.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use reqwest::Client;

use super::first_token::milliseconds;
use crate::{
    ask::client,
    peer::Peer,
    report::{Measure, Taken, median},
};

/// How many calls there are.
pub(crate) fn tool_calls(quick: bool) -> u64 {
    if quick { 2_000 } else { 2_000_000 }
}

/// The made-up calls are spread over the sixty days before now.
const DAYS_TO_THE_MIDDLE: Duration = Duration::from_hours(30 * 24);

pub(super) async fn measure(peer: &Peer, quick: bool) -> Result<Vec<Taken>> {
    let client = client()?;
    let pages = if quick { 2 } else { 30 };
    let middle = chrono::Utc::now() - DAYS_TO_THE_MIDDLE;
    let middle = format!("until:{}", middle.format("%Y-%m-%d"));
    let (mut newest, mut from_middle, mut searches) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..=pages {
        // In turns, so that whatever else happens meets both alike.
        let taken = [page(&client, peer, "").await?, page(&client, peer, &middle).await?];
        // Nothing has been read before the first.
        if number > 0 {
            newest.push(milliseconds(taken[0]));
            from_middle.push(milliseconds(taken[1]));
        }
    }
    for number in 0..pages.min(5) {
        searches.push(milliseconds(page(&client, peer, &format!("nowhere{number}")).await?));
    }
    let newest = median(&mut newest);
    Ok(vec![
        (Measure::HistoryPage, newest),
        (Measure::HistoryMiddle, median(&mut from_middle) / newest),
        (Measure::HistorySearch, median(&mut searches)),
    ])
}

/// How long a page of the history takes.
async fn page(client: &Client, peer: &Peer, filter: &str) -> Result<Duration> {
    let asked = Instant::now();
    let request = client.get(format!("http://{}/admin?q={filter}", peer.process.address));
    let response = request.send().await?;
    let status = response.status();
    let text = response.text().await?;
    if !status.is_success() || !text.contains("</html>") {
        bail!("the history answers {status}");
    }
    Ok(asked.elapsed())
}
