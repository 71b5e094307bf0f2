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
};

/// Numbers of messages.
pub(crate) const SIZES: [u64; 3] = [1_000, 10_000, 100_000];

/// A search.
#[derive(Debug)]
pub(crate) struct Search {
    /// Names in tables and files, for each of [`SIZES`].
    pub(crate) names: [&'static str; 3],
    query: &'static str,
    /// Number of matches; `None` for a search of which only the first page is read.
    matches: Option<usize>,
}

/// All searches. The word that is rare is in one of the generated messages.
pub(crate) const SEARCHES: [Search; 4] = [
    Search {
        names: ["search_rare_1k", "search_rare_10k", "search_rare_100k"],
        query: "quetzalcoatl",
        matches: Some(1),
    },
    Search { names: ["search_none_1k", "search_none_10k", "search_none_100k"], query: "rhubarb", matches: Some(0) },
    Search { names: ["search_short_1k", "search_short_10k", "search_short_100k"], query: "qzx", matches: Some(0) },
    Search { names: ["search_common_1k", "search_common_10k", "search_common_100k"], query: "the", matches: None },
];

/// Measures all searches in as many messages as `SIZES[size]`.
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
