//! Replaces NUL characters, which no stored text contains.

/// Returns a text with each NUL character replaced with U+FFFD. SQLite's functions treat a NUL as the end of a text
/// (<https://www.sqlite.org/nulinstr.html>), so the rest could be stored but never read or found.
pub fn without_nul(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text }
}
