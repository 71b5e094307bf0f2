//! Cleans text from a server before models and users read it: limits its length and removes invisible characters.

use tallybook_protocol::with_ellipsis;

use super::limits::{MAX_DESCRIPTION_BYTES, MAX_MESSAGE_CHARS};

/// Returns a description for use in prompts.
pub(crate) fn description(text: &str) -> String {
    description_with(text, "")
}

/// Returns a description for use in prompts, with `note` at its end. The note counts toward the maximum length.
pub(crate) fn description_with(text: &str, note: &str) -> String {
    const CUT: char = '…';
    let available = MAX_DESCRIPTION_BYTES.saturating_sub(note.len());
    let mut text: String = text.chars().take(MAX_DESCRIPTION_BYTES).filter(|&c| is_visible(c)).collect();
    if text.len() > available {
        text.truncate(text.floor_char_boundary(available.saturating_sub(CUT.len_utf8())));
        text.push(CUT);
    }
    text + note
}

/// Returns a short message on one line.
pub(crate) fn message(text: &str) -> String {
    let line: String = text.chars().take(4 * MAX_MESSAGE_CHARS).map(|c| if c == '\n' { ' ' } else { c }).collect();
    let line: String = line.chars().filter(|&c| is_visible(c)).collect();
    with_ellipsis(&line, MAX_MESSAGE_CHARS)
}

/// Returns `false` for control characters except line feeds, for characters that change the direction of text, and for
/// invisible characters, such as the tag characters that copy ASCII.
fn is_visible(c: char) -> bool {
    let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let hidden = matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    c == '\n' || !(c.is_control() || turns || hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invisible_characters_are_removed_and_long_texts_truncated() {
        assert_eq!(description("a\u{202e}b\u{7}c\u{e0041}\nd"), "abc\nd");
        let long = description(&"é".repeat(5_000));
        assert!(long.len() <= MAX_DESCRIPTION_BYTES && long.ends_with('…'), "{} bytes", long.len());
        let noted = description_with(&"é".repeat(5_000), " (A note.)");
        assert!(noted.len() <= MAX_DESCRIPTION_BYTES && noted.ends_with("é… (A note.)"), "{} bytes", noted.len());
        assert_eq!(message("two\nlines\u{1b}[31m"), "two lines[31m");
    }
}
