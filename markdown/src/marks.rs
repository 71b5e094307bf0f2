//! Bounds runs of combining marks. Browsers shape a character together with all of its marks, which takes time that grows much
//! faster than their number; and many marks cover the lines around them.

use std::borrow::Cow;

/// Marks that are drawn on one character; more are left out. No writing system stacks as many.
pub const MAX_MARKS: usize = 16;

/// Returns whether a character is drawn on the one before it, or not at all.
pub fn is_mark(c: char) -> bool {
    // The standard library escapes what extends a grapheme, and what is not printable, among which are signs of private use.
    !c.is_ascii() && !is_private(c) && c.escape_debug().len() > 1
}

fn is_private(c: char) -> bool {
    matches!(c, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{10ffff}')
}

/// Returns the text with at most [`MAX_MARKS`] marks on each character.
pub fn bounded(text: &str) -> Cow<'_, str> {
    if !has_long_run(text) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    push(&mut shown, text);
    Cow::Owned(shown)
}

/// Bounds a text in its place: one that needs no change is not copied.
pub fn bounded_text(text: String) -> String {
    match bounded(&text) {
        Cow::Owned(bounded) => bounded,
        Cow::Borrowed(_) => text,
    }
}

fn has_long_run(text: &str) -> bool {
    let mut marks = 0;
    // A mark has two bytes at least.
    text.len() > 2 * MAX_MARKS
        && text.chars().any(|c| {
            marks = if is_mark(c) { marks + 1 } else { 0 };
            marks > MAX_MARKS
        })
}

/// Adds text to what is held, with at most [`MAX_MARKS`] marks on each character.
pub(crate) fn push(held: &mut String, text: &str) {
    let mut marks = held.chars().rev().take(MAX_MARKS).take_while(|c| is_mark(*c)).count();
    let mut from = 0;
    for (at, c) in text.char_indices() {
        if !is_mark(c) {
            marks = 0;
            continue;
        }
        marks += 1;
        if marks > MAX_MARKS {
            held.push_str(&text[from..at]);
            from = at + c.len_utf8();
        }
    }
    held.push_str(&text[from..]);
}

#[cfg(test)]
mod tests {
    use super::{MAX_MARKS, bounded, push};

    #[test]
    fn long_runs_of_marks_are_cut_and_nothing_else() {
        for mark in ["\u{301}", "\u{20dd}", "\u{5bf}", "\u{93c}", "\u{fe0f}", "\u{1d167}", "\u{e0101}", "\u{200d}"] {
            let text = format!("a{}b{mark}c", mark.repeat(1000));
            assert_eq!(bounded(&text), format!("a{}b{mark}c", mark.repeat(MAX_MARKS)), "{mark:?}");
        }
        for text in [
            "",
            "plain",
            "e\u{301}tude",
            "שָׁלוֹם",
            "ကြွယ့်",
            "བསྒྲུབས",
            "東京".repeat(100).as_str(),
            "\u{e001}".repeat(100).as_str(),
        ] {
            assert_eq!(bounded(text), text);
        }
    }

    #[test]
    fn runs_that_come_in_pieces_are_one_run() {
        let mut held = "a".to_owned();
        for _ in 0..1000 {
            push(&mut held, "\u{301}");
        }
        assert_eq!(held, format!("a{}", "\u{301}".repeat(MAX_MARKS)));
        push(&mut held, "b\u{301}");
        assert!(held.ends_with("b\u{301}"));
    }
}
