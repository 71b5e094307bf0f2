//! The one character that no text is kept with.

/// A text with U+FFFD for each NUL character. SQLite's functions take one for the end of a text
/// (<https://www.sqlite.org/nulinstr.html>), so what stands behind it could be stored and never be read or found.
pub fn without_nul(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text }
}
