//! Parses a search query into words and quoted phrases.

use crate::{ServiceError, input::check_search, limits::MAX_SEARCH_WORDS};

/// Returns the words of a query, all of which must be found. A phrase in double quotes counts as one word. Fails with
/// `Invalid` if it has no words, or too many.
pub(crate) fn parse(search: &str) -> Result<Vec<String>, ServiceError> {
    check_search(search)?;
    let mut words: Vec<String> = Vec::new();
    // Every second piece is between quotes; a quote that is never closed extends to the end.
    for (number, piece) in search.split('"').enumerate() {
        if number % 2 == 1 {
            words.push(piece.trim().to_owned());
        } else {
            words.extend(piece.split_whitespace().map(str::to_owned));
        }
    }
    words.retain(|word| !word.is_empty());
    words.dedup();
    if words.is_empty() {
        return Err(ServiceError::Invalid("The search is empty. Enter at least one word.".to_owned()));
    }
    if words.len() > MAX_SEARCH_WORDS {
        return Err(ServiceError::Invalid(format!(
            "The search has {} words. Use at most {MAX_SEARCH_WORDS}, or put some of them in quotes.",
            words.len()
        )));
    }
    Ok(words)
}

#[cfg(test)]
mod tests {
    use crate::search::terms::parse;

    #[test]
    fn quotes_keep_words_together() {
        for (search, words) in [
            ("  tax  2025 ", &["tax", "2025"][..]),
            (r#"a "b  c" d"#, &["a", "b  c", "d"]),
            (r#""never closed here"#, &["never closed here"]),
            (r#"a"b"c"#, &["a", "b", "c"]),
            (r#""" x "#, &["x"]),
            ("大阪\u{3000}城", &["大阪", "城"]),
            ("100% _", &["100%", "_"]),
        ] {
            assert_eq!(parse(search).unwrap(), words, "{search}");
        }
        for search in ["", "   ", r#""""#, r#"" ""#, "a b c d e f g h i", &"x".repeat(201)] {
            assert!(parse(search).is_err(), "{search}");
        }
        assert_eq!(parse(r#"a b c d e f g "h i j""#).unwrap().len(), 8);
    }
}
