//! Truncates texts, calculates their length as JSON, and replaces NUL characters.

/// Returns the beginning of a text: at most `limit` bytes, and no part of a character.
pub fn first_bytes(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// Returns the first `limit` characters of a text.
pub fn first_chars(text: &str, limit: usize) -> &str {
    text.char_indices().nth(limit).map_or(text, |(end, _)| &text[..end])
}

/// Returns a text of at most `limit` characters as it is. Truncates a longer one to `limit` characters, without white
/// space at the end, and appends `…`.
pub fn with_ellipsis(text: &str, limit: usize) -> String {
    let beginning = first_chars(text, limit);
    if beginning.len() == text.len() { text.to_owned() } else { format!("{}…", beginning.trim_end()) }
}

/// Returns the length of a text as JSON (RFC 8259, section 7, as serde writes it), in bytes, without its quotation
/// marks. JSON is the format in which texts are stored and sent.
pub fn json_bytes(text: &str) -> usize {
    text.bytes().map(escaped_bytes).sum()
}

/// Returns the longest beginning of a text that has at most `limit` bytes as JSON.
pub fn beginning_within(text: &str, limit: usize) -> &str {
    let mut bytes = 0;
    let fitting = text.bytes().take_while(|byte| {
        bytes += escaped_bytes(*byte);
        bytes <= limit
    });
    &text[..text.floor_char_boundary(fitting.count())]
}

fn escaped_bytes(byte: u8) -> usize {
    match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' | 0x08 | 0x0c => 2,
        0..0x20 => 6,
        _ => 1,
    }
}

/// Returns a text with each NUL character replaced with U+FFFD. SQLite's functions treat a NUL as the end of a text
/// (<https://www.sqlite.org/nulinstr.html>), so the rest could be stored but never read or found.
pub fn without_nul(text: String) -> String {
    if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{beginning_within, first_bytes, first_chars, json_bytes, with_ellipsis};

    #[test]
    fn only_a_longer_text_ends_with_an_ellipsis() {
        assert_eq!((with_ellipsis("aéo", 3), with_ellipsis("aéo!", 3)), ("aéo".to_owned(), "aéo…".to_owned()));
        assert_eq!(with_ellipsis("one two", 4), "one…");
    }

    #[test]
    fn a_truncated_text_has_no_part_of_a_character() {
        for (limit, bytes, chars) in [(0, "", ""), (1, "a", "a"), (2, "a", "aé"), (3, "aé", "aé"), (9, "aé", "aé")]
        {
            assert_eq!((first_bytes("aé", limit), first_chars("aé", limit)), (bytes, chars), "{limit}");
        }
    }

    proptest! {
        #[test]
        fn the_bytes_are_those_that_serde_writes(text in "[a\"\\\\\n\r\t\u{0}-\u{1f}\u{7f}計🙂]{0,20}", limit in 0usize..60) {
            prop_assert_eq!(json_bytes(&text) + 2, serde_json::to_string(&text).unwrap().len());
            let beginning = beginning_within(&text, limit);
            prop_assert!(text.starts_with(beginning) && json_bytes(beginning) <= limit);
            let next: String = text.chars().take(beginning.chars().count() + 1).collect();
            prop_assert!(next == text && beginning == text || json_bytes(&next) > limit || next == beginning);
        }
    }
}
