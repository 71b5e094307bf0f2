//! Measures the search of a user's messages, by their number: a word that one message has, a word that none has, three
//! letters that none has, and a word that most have. Each is measured until all of its pages are read, except the last,
//! of which the first page is read.

use anyhow::{Context as _, Result, bail};
use reqwest::Client;
use serde_json::Value;

use super::repeated::median_time;
use crate::{
    ask::client,
    peer::Peer,
    report::{Measure, Taken},
    searches::{SEARCHES, Search},
};

/// Measures all searches in as many messages as [`crate::searches::SIZES`] says.
pub(super) async fn measure(peer: &Peer, size: usize, quick: bool) -> Result<Vec<Taken>> {
    let client = client()?;
    let rounds = if quick { 1 } else { 10 };
    let mut taken = Vec::new();
    for (index, search) in SEARCHES.iter().enumerate() {
        let time = median_time(rounds, async || run(&client, peer, search).await.map(drop)).await?;
        taken.push((Measure::Search(index, size), time));
    }
    Ok(taken)
}

/// Reads all pages of a search, or the first. Returns the matches.
pub(super) async fn run(client: &Client, peer: &Peer, search: &Search) -> Result<Vec<Value>> {
    let mut found = Vec::new();
    let mut cursor = String::new();
    loop {
        let url = format!("http://{}/api/search?query={}{cursor}", peer.process.address, search.query);
        let mut page: Value = client.get(url).send().await?.error_for_status()?.json().await?;
        found.append(page["items"].as_array_mut().context("the search returns no list")?);
        match (search.matches, page["next_cursor"].as_str()) {
            (Some(_), Some(next)) => cursor = format!("&cursor={next}"),
            (Some(matches), None) if found.len() != matches => {
                bail!("“{}” was found {} times", search.query, found.len())
            }
            _ => return Ok(found),
        }
    }
}
