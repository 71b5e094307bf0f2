//! `[memory]` as it stands in the settings file. What it means is in `memory`.

use serde::Deserialize;
use toml::Spanned;

/// The section, each value with its place in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MemorySection {
    pub(super) summary_model: Option<Spanned<String>>,
    pub(super) after_tokens: Option<Spanned<usize>>,
    pub(super) max_chars: Option<Spanned<usize>>,
}
