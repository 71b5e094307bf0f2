//! Truncates texts.

/// Returns the beginning of a text: at most `limit` bytes, and no part of a character.
pub fn first_bytes(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// Returns the first `limit` characters of a text.
pub fn first_chars(text: &str, limit: usize) -> &str {
    text.char_indices().nth(limit).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::{first_bytes, first_chars};

    #[test]
    fn a_truncated_text_has_no_part_of_a_character() {
        for (limit, bytes, chars) in [(0, "", ""), (1, "a", "a"), (2, "a", "aé"), (3, "aé", "aé"), (9, "aé", "aé")]
        {
            assert_eq!((first_bytes("aé", limit), first_chars("aé", limit)), (bytes, chars), "{limit}");
        }
    }
}
