//! Finds a typed phrase in texts. Ignores letter case, character width, and the amount of white space between words.
//! Pure.

use std::ops::Range;

/// Maximum number of matches in one text.
pub(crate) const MAX_PLACES: usize = 1000;

/// Full-width forms of the characters U+FF61 to U+FF9D.
const KATAKANA: &str = "。「」、・ヲァィゥェォャュョッーアイウエオカキクケコサシスセソタチツテトナニヌネノハヒフヘホマミムメモヤユヨラリルレロワン";

/// A search phrase, with case and width folded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Phrase(Vec<char>);

/// A folded letter, and the UTF-16 units of the text that it represents.
struct Folded {
    letter: char,
    units: Range<u32>,
}

impl Phrase {
    /// Creates a phrase from what the user typed. Ignores white space around it. Returns `None` if nothing is left.
    pub(crate) fn new(typed: &str) -> Option<Self> {
        let letters: Vec<char> = fold(typed.trim()).into_iter().map(|folded| folded.letter).collect();
        (!letters.is_empty()).then_some(Self(letters))
    }

    /// Returns the positions of the phrase in a text, in UTF-16 units: at most [`MAX_PLACES`], without overlaps.
    pub(crate) fn places(&self, text: &str) -> Vec<Range<u32>> {
        let folded = fold(text);
        let mut places = Vec::new();
        let mut at = 0;
        while let Some(candidate) = folded.get(at..at + self.0.len())
            && let (Some(first), Some(last)) = (candidate.first(), candidate.last())
            && places.len() < MAX_PLACES
        {
            if candidate.iter().map(|folded| &folded.letter).eq(&self.0) {
                places.push(first.units.start..last.units.end);
                at += candidate.len();
            } else {
                at += 1;
            }
        }
        places
    }
}

fn fold(text: &str) -> Vec<Folded> {
    let mut folded: Vec<Folded> = Vec::with_capacity(text.len());
    let mut start = 0;
    for c in text.chars() {
        let end = start + if c.len_utf16() == 2 { 2 } else { 1 };
        let letter = narrow(c);
        let joined = folded.last().and_then(|last| joined(last.letter, letter));
        if let (Some(joined), Some(last)) = (joined, folded.last_mut()) {
            last.letter = joined;
            last.units.end = end;
        } else {
            folded.extend(letter.to_lowercase().map(|letter| Folded { letter, units: start..end }));
        }
        start = end;
    }
    folded
}

/// Returns a letter in its normal width.
fn narrow(c: char) -> char {
    match c {
        _ if c.is_whitespace() => ' ',
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '\u{ff61}'..='\u{ff9d}' => KATAKANA.chars().nth((u32::from(c) - 0xff61) as usize).unwrap_or(c),
        '\u{ff9e}' => '\u{3099}',
        '\u{ff9f}' => '\u{309a}',
        // The lower case has two forms, depending on the position in a word.
        'ς' => 'σ',
        c => c,
    }
}

/// Merges two letters that count as one: adjacent white space, or a kana and its sound mark. Otherwise returns `None`.
fn joined(before: char, c: char) -> Option<char> {
    let after = |by: u32| char::from_u32(u32::from(before) + by);
    // In hiragana and, 0x60 later, in katakana, the code point after a kana is its voiced form.
    let hiragana = match before {
        'ァ'..='ヶ' => char::from_u32(u32::from(before) - 0x60)?,
        before => before,
    };
    match (hiragana, c) {
        (' ', ' ') => Some(' '),
        ('う', '\u{3099}') => after(0x4e),
        (
            'か' | 'き' | 'く' | 'け' | 'こ' | 'さ' | 'し' | 'す' | 'せ' | 'そ' | 'た' | 'ち' | 'つ' | 'て' | 'と'
            | 'は' | 'ひ' | 'ふ' | 'へ' | 'ほ',
            '\u{3099}',
        ) => after(1),
        ('は' | 'ひ' | 'ふ' | 'へ' | 'ほ', '\u{309a}') => after(2),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_PLACES, Phrase};

    fn places(text: &str, typed: &str) -> Vec<(u32, u32)> {
        let phrase = Phrase::new(typed).unwrap();
        phrase.places(text).into_iter().map(|place| (place.start, place.end)).collect()
    }

    #[test]
    fn all_matches_of_a_phrase_are_found() {
        for (text, typed, expected) in [
            ("Tax and TAX", "tax", &[(0, 3), (8, 11)][..]),
            ("What is this? This is what.", "what is", &[(0, 7)]),
            ("is what", "what is", &[]),
            ("a\n  b", "a b", &[(0, 5)]),
            ("a b", " a   b ", &[(0, 3)]),
            ("🙂 tax", "tax", &[(3, 6)]),
            ("aaa", "aa", &[(0, 2)]),
            ("\"a\"", "\"A\"", &[(0, 3)]),
            ("Η ΟΔΌΣ και η οδός", "οδός", &[(2, 6), (13, 17)]),
            ("İstanbul", "istanbul", &[]),
            ("İstanbul", "İSTANBUL", &[(0, 8)]),
        ] {
            assert_eq!(places(text, typed), expected, "{text}: {typed}");
        }
        assert_eq!(places(&"a ".repeat(5000), "a").len(), MAX_PLACES);
    }

    #[test]
    fn width_is_ignored() {
        for (text, typed, expected) in [
            ("１２．５ と 12.5", "12.5", &[(0, 4), (7, 11)][..]),
            ("ＴＡＸ", "tax", &[(0, 3)]),
            ("ｶﾞｲﾄﾞとガイド", "ガイド", &[(0, 5), (6, 9)]),
            ("ガイド", "ｶﾞｲﾄﾞ", &[(0, 3)]),
            ("ﾊﾟﾝ", "パン", &[(0, 3)]),
            ("か\u{3099}く", "がく", &[(0, 3)]),
            ("ｳﾞ", "ヴ", &[(0, 2)]),
            ("a\u{3000}b", "a b", &[(0, 3)]),
            ("｢ﾝ｣", "「ン」", &[(0, 3)]),
        ] {
            assert_eq!(places(text, typed), expected, "{text}: {typed}");
        }
    }

    #[test]
    fn white_space_alone_is_not_a_phrase() {
        assert_eq!(Phrase::new(""), None);
        assert_eq!(Phrase::new(" \u{3000}"), None);
    }
}
