//! Finds the known name that is most similar to a misspelled one.

use strsim::jaro_winkler;

/// Similarity above which a name counts as misspelled; equal names have 1.
const ALIKE: f64 = 0.85;

/// Returns a sentence that suggests the most similar known name; empty if none is similar.
pub(crate) fn advice<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let rated = known.into_iter().map(|known| (jaro_winkler(known, name), known));
    let nearest = rated.filter(|(likeness, _)| *likeness > ALIKE).max_by(|(a, _), (b, _)| a.total_cmp(b));
    nearest.map(|(_, nearest)| format!(" Did you mean {nearest}?")).unwrap_or_default()
}
