//! The section `[review]` of the settings file. `review` interprets it.

use serde::Deserialize;
use toml::Spanned;

/// The section. Each value has its position in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReviewSection {
    pub(crate) models: Spanned<Vec<Spanned<String>>>,
    pub(crate) quorum: Option<Spanned<usize>>,
    pub(crate) mode: Option<Spanned<String>>,
    pub(crate) timeout_secs: Option<Spanned<u64>>,
}
