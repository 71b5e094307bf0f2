//! `[review]` as it stands in the settings file. What it means is in `review`.

use serde::Deserialize;
use toml::Spanned;

/// The section, each value with its place in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReviewSection {
    pub(super) models: Spanned<Vec<Spanned<String>>>,
    pub(super) quorum: Option<Spanned<usize>>,
    pub(super) mode: Option<Spanned<String>>,
    pub(super) timeout_secs: Option<Spanned<u64>>,
}
