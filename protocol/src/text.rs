//! Truncates texts.

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

#[cfg(test)]
mod tests {
    use super::{first_bytes, first_chars, with_ellipsis};

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
}
