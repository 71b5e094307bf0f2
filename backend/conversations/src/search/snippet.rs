//! Cuts a short excerpt of a text around the words that were searched for. Pure. Counts characters, as both database
//! engines do.

use std::ops::Range;

use tallybook_protocol::SnippetPart;
use unicode_segmentation::UnicodeSegmentation as _;

/// Maximum length of a snippet, in characters, without the ellipses.
const MAX_SNIPPET_CHARS: usize = 158;

/// Maximum number of characters before the first match.
const CHARS_BEFORE: usize = 50;

/// Number of characters that are read before the first match: enough to find the beginning of a word.
pub(crate) const READ_BEFORE: i64 = 80;

/// Number of characters that are read in total. It exceeds the length of a snippet, so that it is known whether the
/// text continues.
pub(crate) const READ_CHARS: i64 = 300;

/// Marks omitted text.
const LEFT_OUT: &str = "…";

/// Cuts a snippet out of a part of a text. `begins_text` is `true` if the part is the beginning of the text.
pub(crate) fn cut(part: &str, begins_text: bool, words: &[String]) -> Vec<SnippetPart> {
    let text = harmless(part);
    let matches = find_all(&text, words);
    let first = matches.first().map_or(0..0, Clone::clone);
    let start = beginning(&text, first.start);
    let end = end(&text, start, &first);
    let mut parts = Vec::new();
    if !begins_text || !text[..start].trim().is_empty() {
        push(&mut parts, LEFT_OUT, false);
    }
    let mut at = start;
    for found in matches.into_iter().filter(|found| found.start < end) {
        push(&mut parts, &text[at..found.start], false);
        at = found.end.min(end);
        push(&mut parts, &text[found.start..at], true);
    }
    push(&mut parts, &text[at..end], false);
    if !text[end..].trim().is_empty() {
        push(&mut parts, LEFT_OUT, false);
    }
    parts
}

/// Returns where the snippet begins: at the beginning of a word, if one is near enough to the match.
fn beginning(text: &str, first_match: usize) -> usize {
    let farthest = text[..first_match].char_indices().rev().take(CHARS_BEFORE).last().map_or(first_match, |(at, _)| at);
    let near = |at: &usize| (farthest..=first_match).contains(at);
    let word = text.split_word_bound_indices().filter(|(_, word)| !word.trim().is_empty()).map(|(at, _)| at).find(near);
    word.or_else(|| text.grapheme_indices(true).map(|(at, _)| at).find(near)).unwrap_or(first_match)
}

/// Returns where the snippet ends: at the end of a word, if a word ends after the match, and otherwise between two
/// grapheme clusters if possible.
fn end(text: &str, start: usize, first: &Range<usize>) -> usize {
    let limit = text[start..].char_indices().nth(MAX_SNIPPET_CHARS).map_or(text.len(), |(end, _)| start + end);
    let fits = |end: &usize| (first.end.max(start + 1)..=limit).contains(end);
    let word = text.split_word_bound_indices().map(|(at, word)| at + word.len()).rfind(fits);
    let character = || text.grapheme_indices(true).map(|(at, whole)| at + whole.len()).rfind(|end| *end <= limit);
    word.or_else(character).filter(|end| *end > start).unwrap_or(limit)
}

/// Replaces every character that has an effect instead of a glyph, such as a line break or a control character. The
/// number of characters stays the same.
fn harmless(text: &str) -> String {
    let replaced = |c: char| match c {
        _ if c.is_whitespace() => ' ',
        // Control characters, and characters that change the direction of writing.
        _ if c.is_control() => char::REPLACEMENT_CHARACTER,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            char::REPLACEMENT_CHARACTER
        }
        _ => c,
    };
    text.chars().map(replaced).collect()
}

/// Returns the matches of any of the words, in order and without overlaps.
fn find_all(text: &str, words: &[String]) -> Vec<Range<usize>> {
    // Lowercases character by character, as `match_length` does with the text. So a capital sigma at the end of a word
    // does not become a final sigma.
    let lower = |word: &String| harmless(word).chars().flat_map(char::to_lowercase).collect();
    let words: Vec<String> = words.iter().map(lower).collect();
    let mut found = Vec::new();
    let mut free_from = 0;
    for (at, _) in text.char_indices() {
        if at < free_from {
            continue;
        }
        if let Some(length) = words.iter().filter_map(|word| match_length(&text[at..], word)).max() {
            free_from = at + length;
            found.push(at..free_from);
        }
    }
    found
}

/// Returns the length of the match in bytes if the text begins with the word, which is in lower case.
fn match_length(text: &str, word: &str) -> Option<usize> {
    let mut rest = word.chars();
    for (at, character) in text.char_indices() {
        if rest.as_str().is_empty() {
            return Some(at);
        }
        if character.to_lowercase().any(|lower| rest.next() != Some(lower)) {
            return None;
        }
    }
    rest.as_str().is_empty().then_some(text.len())
}

/// Appends text, to the last part if that is of the same kind.
fn push(parts: &mut Vec<SnippetPart>, text: &str, is_match: bool) {
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(last) if last.is_match == is_match => last.text.push_str(text),
        _ => parts.push(SnippetPart { text: text.to_owned(), is_match }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::search::snippet::{SnippetPart, cut};

    fn marked(parts: &[SnippetPart]) -> String {
        parts.iter().map(|part| if part.is_match { format!("[{}]", part.text) } else { part.text.clone() }).collect()
    }

    fn cut_marked(part: &str, begins_text: bool, words: &[&str]) -> String {
        marked(&cut(part, begins_text, &words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()))
    }

    #[test]
    fn words_are_marked_case_insensitively() {
        for (part, words, expected) in [
            ("The Rhubarb, and rhubarb pie", &["rhubarb"][..], "The [Rhubarb], and [rhubarb] pie"),
            ("ПРИВЕТ, мир", &["привет", "МИР"], "[ПРИВЕТ], [мир]"),
            ("大阪城は大阪にある", &["大阪"], "[大阪]城は[大阪]にある"),
            ("aaa aa", &["a", "aaa"], "[aaa] [aa]"),
            ("nothing here", &["other"], "nothing here"),
            ("", &["other"], ""),
            ("İstanbul", &["İs"], "[İs]tanbul"),
            ("Η ΟΔΌΣ", &["οδόσ"], "Η [ΟΔΌΣ]"),
            ("η οδόσημη", &["ΟΔΌΣ"], "η [οδόσ]ημη"),
        ] {
            assert_eq!(cut_marked(part, true, words), expected);
        }
    }

    #[test]
    fn long_texts_are_cut_between_words_with_an_ellipsis() {
        let part = format!("{} needle {}", "before ".repeat(20).trim(), "after ".repeat(40).trim());
        let snippet = cut_marked(&part, true, &["needle"]);
        assert!(snippet.starts_with("…before before ") && snippet.ends_with(" after …"), "{snippet}");
        assert!(snippet.contains(" [needle] ") && snippet.chars().count() <= 162, "{snippet}");
        assert!(cut_marked("needle", false, &["needle"]).starts_with("…[needle]"));
        // Without word boundaries the text is cut all the same, but never within a grapheme cluster.
        let long = cut_marked(&format!("{}needle{}", "x".repeat(200), "👨‍👩‍👧".repeat(60)), true, &["needle"]);
        assert!(long.starts_with("…x") && long.contains("[needle]") && long.ends_with("👨‍👩‍👧…"), "{long}");
    }

    #[test]
    fn snippets_contain_no_active_markup() {
        let snippet = cut_marked("a\u{1b}[31m\nb\u{202e}c\0 needle\u{7}", true, &["needle"]);
        assert_eq!(snippet, "a\u{fffd}[31m b\u{fffd}c\u{fffd} [needle]\u{fffd}");
    }

    proptest! {
        #[test]
        fn any_text_has_a_short_snippet(part in "\\PC{0,300}|[ab \\n]{0,300}", word in "[abİ大]{1,9}", begins in any::<bool>()) {
            let parts = cut(&part, begins, &[word]);
            prop_assert!(parts.iter().map(|part| part.text.chars().count()).sum::<usize>() <= 160);
            prop_assert!(parts.iter().all(|part| !part.text.is_empty() && !part.text.chars().any(char::is_control)));
        }
    }
}
