//! The section `[memory]` of the settings file. `memory` interprets it.

use serde::Deserialize;
use toml::Spanned;

/// The section. Each value has its position in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MemorySection {
    pub(crate) summary_model: Option<Spanned<String>>,
    pub(crate) after_tokens: Option<Spanned<usize>>,
    pub(crate) max_chars: Option<Spanned<usize>>,
}
