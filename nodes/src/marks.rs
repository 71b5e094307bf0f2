//! Bounds runs of combining marks. Browsers shape a character together with all of its marks, in a time that grows much
//! faster than the number of marks. Many marks also cover the surrounding lines.

use std::borrow::Cow;

/// Maximum number of marks on a character; more are left out. No writing system stacks as many.
pub const MAX_MARKS: usize = 16;

/// Returns `true` if a character is drawn on top of the previous one, or is invisible.
pub fn is_mark(c: char) -> bool {
    // The standard library escapes characters that extend a grapheme, and characters that are not printable. The latter
    // include private-use characters.
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

/// Returns the text with bounded runs of marks. A text that needs no change is not copied.
pub fn bounded_text(text: String) -> String {
    match bounded(&text) {
        Cow::Owned(bounded) => bounded,
        Cow::Borrowed(_) => text,
    }
}

fn has_long_run(text: &str) -> bool {
    let mut marks = 0;
    // A mark has at least two bytes.
    text.len() > 2 * MAX_MARKS
        && text.chars().any(|c| {
            marks = if is_mark(c) { marks + 1 } else { 0 };
            marks > MAX_MARKS
        })
}

/// Appends text to `held`, with at most [`MAX_MARKS`] marks on each character.
pub fn push(held: &mut String, text: &str) {
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
    fn only_long_runs_of_marks_are_truncated() {
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
    fn a_run_in_several_pieces_is_one_run() {
        let mut held = "a".to_owned();
        for _ in 0..1000 {
            push(&mut held, "\u{301}");
        }
        assert_eq!(held, format!("a{}", "\u{301}".repeat(MAX_MARKS)));
        push(&mut held, "b\u{301}");
        assert!(held.ends_with("b\u{301}"));
    }
}
