//! Measures the search of a user's messages, by their number: a word that one message has, a word that none has, three
//! letters that none has, and a word that most have. Each is measured until all of its pages are read, except the last,
//! of which the first page is read.

use std::time::Instant;

use anyhow::{Result, bail};
use reqwest::Client;
use serde_json::Value;

use super::first_token::milliseconds;
use crate::{
    ask::client,
    peer::Peer,
    report::{Measure, Taken, median},
    searches::{SEARCHES, Search},
};

/// Measures all searches in as many messages as [`crate::searches::SIZES`] says.
pub(super) async fn measure(peer: &Peer, size: usize, quick: bool) -> Result<Vec<Taken>> {
    let client = client()?;
    let rounds = if quick { 1 } else { 10 };
    let mut taken = Vec::new();
    for (index, search) in SEARCHES.iter().enumerate() {
        let mut times = Vec::new();
        for round in 0..=rounds {
            let asked = Instant::now();
            run(&client, peer, search).await?;
            // The first round only warms up.
            if round > 0 {
                times.push(milliseconds(asked.elapsed()));
            }
        }
        taken.push((Measure::Search(index, size), median(&mut times)));
    }
    Ok(taken)
}

/// Reads all pages of a search, or the first.
async fn run(client: &Client, peer: &Peer, search: &Search) -> Result<()> {
    let mut found = 0;
    let mut cursor = String::new();
    loop {
        let url = format!("http://{}/api/search?query={}{cursor}", peer.process.address, search.query);
        let page: Value = client.get(url).send().await?.error_for_status()?.json().await?;
        found += page["items"].as_array().map_or(0, Vec::len);
        match (search.matches, page["next_cursor"].as_str()) {
            (Some(_), Some(next)) => cursor = format!("&cursor={next}"),
            (Some(matches), None) if found != matches => {
                bail!("“{}” was found {found} times", search.query)
            }
            _ => return Ok(()),
        }
    }
}
