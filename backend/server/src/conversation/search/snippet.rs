//! A few words of a text around what was looked for. Pure. Counts characters, as both engines do.

use std::ops::Range;

use tallybook_protocol::SnippetPart;
use unicode_segmentation::UnicodeSegmentation as _;

/// Characters of a snippet, without the marks of what is left out.
const MAX_SNIPPET_CHARS: usize = 158;

/// Characters before the first match, as far as there are.
const CHARS_BEFORE: usize = 50;

/// Characters that are read before the first match: room for the beginning of a word.
pub(super) const READ_BEFORE: i64 = 80;

/// Characters that are read in all: more than are shown, so that it is known whether there are more.
pub(super) const READ_CHARS: i64 = 300;

/// Stands for what is left out.
const LEFT_OUT: &str = "…";

/// Cuts a snippet out of a part of a text, which begins the text or does not.
pub(super) fn cut(part: &str, begins_text: bool, words: &[String]) -> Vec<SnippetPart> {
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

/// Where the snippet begins: with a word, if there is one that is near enough to the match.
fn beginning(text: &str, first_match: usize) -> usize {
    let farthest = text[..first_match].char_indices().rev().take(CHARS_BEFORE).last().map_or(first_match, |(at, _)| at);
    let near = |at: &usize| (farthest..=first_match).contains(at);
    let word = text.split_word_bound_indices().filter(|(_, word)| !word.trim().is_empty()).map(|(at, _)| at).find(near);
    word.or_else(|| text.grapheme_indices(true).map(|(at, _)| at).find(near)).unwrap_or(first_match)
}

/// Where the snippet ends: with a word, if one does so behind the match, and never within what is one character to a reader.
fn end(text: &str, start: usize, first: &Range<usize>) -> usize {
    let limit = text[start..].char_indices().nth(MAX_SNIPPET_CHARS).map_or(text.len(), |(end, _)| start + end);
    let fits = |end: &usize| (first.end.max(start + 1)..=limit).contains(end);
    let word = text.split_word_bound_indices().map(|(at, word)| at + word.len()).rfind(fits);
    let character = || text.grapheme_indices(true).map(|(at, whole)| at + whole.len()).rfind(|end| *end <= limit);
    word.or_else(character).filter(|end| *end > start).unwrap_or(limit)
}

/// The text with every character that would do something, and not show something, replaced by one that does neither. As
/// many characters as before.
fn harmless(text: &str) -> String {
    let replaced = |c: char| match c {
        _ if c.is_whitespace() => ' ',
        // Controls, and what turns the direction of writing around.
        _ if c.is_control() => char::REPLACEMENT_CHARACTER,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            char::REPLACEMENT_CHARACTER
        }
        _ => c,
    };
    text.chars().map(replaced).collect()
}

/// Where any of the words stand, in order, none reaching into another.
fn find_all(text: &str, words: &[String]) -> Vec<Range<usize>> {
    // Letter by letter, as the text is: a sigma at the end of a word is none there.
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

/// How many bytes of the text are the word, which is in lower case, if the text begins with it.
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

/// Adds a stretch, to the one before if they are of one kind.
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

    use super::{SnippetPart, cut};

    fn marked(parts: &[SnippetPart]) -> String {
        parts.iter().map(|part| if part.is_match { format!("[{}]", part.text) } else { part.text.clone() }).collect()
    }

    fn cut_marked(part: &str, begins_text: bool, words: &[&str]) -> String {
        marked(&cut(part, begins_text, &words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>()))
    }

    #[test]
    fn every_word_is_marked_in_either_case() {
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
    fn what_is_cut_is_cut_between_words_and_said_to_be() {
        let part = format!("{} needle {}", "before ".repeat(20).trim(), "after ".repeat(40).trim());
        let snippet = cut_marked(&part, true, &["needle"]);
        assert!(snippet.starts_with("…before before ") && snippet.ends_with(" after …"), "{snippet}");
        assert!(snippet.contains(" [needle] ") && snippet.chars().count() <= 162, "{snippet}");
        assert!(cut_marked("needle", false, &["needle"]).starts_with("…[needle]"));
        // No borders: cut all the same, and never within a family.
        let long = cut_marked(&format!("{}needle{}", "x".repeat(200), "👨‍👩‍👧".repeat(60)), true, &["needle"]);
        assert!(long.starts_with("…x") && long.contains("[needle]") && long.ends_with("👨‍👩‍👧…"), "{long}");
    }

    #[test]
    fn nothing_in_a_snippet_does_anything() {
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
