//! The searches that are measured, and the numbers of messages that are searched.

/// Numbers of messages.
pub(crate) const SIZES: [u64; 3] = [1_000, 10_000, 100_000];

/// A search.
#[derive(Debug)]
pub(crate) struct Search {
    /// Names in tables and files, for each of [`SIZES`].
    pub(crate) names: [&'static str; 3],
    /// The search as in the address.
    pub(crate) query: &'static str,
    /// Number of matches; `None` for a search of which only the first page is read.
    pub(crate) matches: Option<usize>,
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
