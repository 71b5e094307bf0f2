//! Finds the name that a misspelled one is most like.

use strsim::jaro_winkler;

/// Similarity from which a name is taken for another one misspelled; equal names have 1.
const ALIKE: f64 = 0.85;

/// Returns a sentence that asks for the nearest known name; empty if none is alike.
pub(super) fn advice<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let rated = known.into_iter().map(|known| (jaro_winkler(known, name), known));
    let nearest = rated.filter(|(likeness, _)| *likeness > ALIKE).max_by(|(a, _), (b, _)| a.total_cmp(b));
    nearest.map(|(_, nearest)| format!(" Did you mean {nearest}?")).unwrap_or_default()
}
