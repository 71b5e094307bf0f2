//! Lets `*` and `~~` mark text beside Chinese, Japanese and Korean characters, which are written without spaces.
//!
//! CommonMark decides by spaces and punctuation whether a run of `*` opens or closes emphasis. So it would not
//! recognize the emphasis in `これは**「重要」**です`. This module applies the rules of the "CommonMark CJK-friendly
//! amendments" (tats-u/markdown-cjk-friendly). CJK punctuation counts as a letter. A CJK character next to a run counts
//! as a space if other punctuation is on the other side of the run.
//!
//! The parser has no such option. So before parsing, each such character next to a run is exchanged for a letter or a
//! punctuation mark. The replacement has the same length and does not occur in the text. [`Exchanged::restore`]
//! restores the originals in everything that the parser returns.

use std::{borrow::Cow, ops::RangeInclusive};

use crate::links;

/// Maximum number of distinct characters that are exchanged in a block. Further characters stay unchanged.
const MAX_EXCHANGED: usize = 64;

/// A block's source as the parser reads it.
pub(crate) struct Exchanged<'a> {
    /// The exchanged text: as long as the original, each character at its original position.
    pub(crate) source: Cow<'a, str>,
    /// Each replacement with its original character.
    originals: Vec<(char, char)>,
}

impl Exchanged<'_> {
    /// Returns the text with the original characters.
    pub(crate) fn restore<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let original =
            |found: char| self.originals.iter().find(|(stand_in, _)| *stand_in == found).map(|(_, original)| *original);
        if self.originals.is_empty() || !text.chars().any(|found| original(found).is_some()) {
            return text.into();
        }
        text.chars().map(|found| original(found).unwrap_or(found)).collect::<String>().into()
    }
}

/// The kind of character as which the parser should treat a character next to a run of marks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Letter,
    Punctuation,
}

/// Returns the source to parse, with characters exchanged next to runs in CJK text, and `_` in web addresses.
pub(crate) fn exchanged(source: &str) -> Exchanged<'_> {
    let mut places = places(source);
    places.extend(underscores(source));
    places.sort_unstable_by_key(|(at, ..)| *at);
    let mut originals: Vec<(char, char, Role)> = Vec::new();
    let mut written = String::new();
    let mut from = 0;
    for (at, original, role) in places {
        let known = originals.iter().find(|(_, known, as_role)| *known == original && *as_role == role);
        let stand_in = if let Some((stand_in, ..)) = known {
            *stand_in
        } else {
            let is_free = |c: &char| !source.contains(*c) && originals.iter().all(|(taken, ..)| taken != c);
            let room = originals.len() < MAX_EXCHANGED;
            let Some(free) = candidates(original, role).filter(|_| room).find(is_free) else { continue };
            originals.push((free, original, role));
            free
        };
        written.push_str(&source[from..at]);
        written.push(stand_in);
        from = at + original.len_utf8();
    }
    if originals.is_empty() {
        return Exchanged { source: source.into(), originals: Vec::new() };
    }
    written.push_str(&source[from..]);
    let originals = originals.into_iter().map(|(stand_in, original, _)| (stand_in, original)).collect();
    Exchanged { source: written.into(), originals }
}

/// Returns the characters to exchange, in order, each once.
fn places(source: &str) -> Vec<(usize, char, Role)> {
    let mut places: Vec<(usize, char, Role)> = Vec::new();
    if source.is_ascii() {
        return places;
    }
    let mut rest = 0;
    while let Some(found) = source[rest..].find(['*', '~']) {
        let start = rest + found;
        let mark = source.as_bytes()[start];
        let end = start + source.as_bytes()[start..].iter().take_while(|byte| **byte == mark).count();
        rest = end;
        let before = source[..start].chars().next_back().map(|c| (start - c.len_utf8(), c));
        let after = source[end..].chars().next().map(|c| (end, c));
        for (beside, other) in [(before, after), (after, before)] {
            let Some((at, character)) = beside.filter(|(_, c)| is_cjk(*c)) else { continue };
            let has_punctuation_opposite = other.is_some_and(|(_, c)| is_punctuation(c) && !is_cjk(c));
            let role = if has_punctuation_opposite {
                Role::Punctuation
            } else if is_punctuation(character) {
                Role::Letter
            } else {
                continue;
            };
            if places.last().is_none_or(|(last, ..)| *last < at) {
                places.push((at, character, role));
            }
        }
    }
    places
}

/// Returns the `_` in web addresses of the text, where they are not marks: `https://example.com/__init__.py`.
fn underscores(source: &str) -> Vec<(usize, char, Role)> {
    let mut places = Vec::new();
    let mut rest = 0;
    while let Some((start, end)) = links::find_address(&source[rest..]) {
        let (start, end) = (rest + start, rest + end);
        // The text of a link ends before its address.
        let end = source[start..end].find("](").map_or(end, |at| start + at);
        rest = end;
        // The address of a link must stay unchanged, because the parser reads it itself.
        let before = source[..start].trim_end();
        if !before.ends_with('<') && !before.ends_with("](") && !before.ends_with("]:") {
            let marks = source[start..end].match_indices('_');
            places.extend(marks.map(|(at, _)| (start + at, '_', Role::Letter)));
        }
    }
    places
}

/// Returns `true` if the character belongs to CJK text: a letter, or punctuation of the kind used with them.
/// U+3000, the wide space, is left out: it is white space.
fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{1100}'..='\u{11ff}' // Hangul Jamo
        | '\u{2e80}'..='\u{2fff}' // radicals
        | '\u{3001}'..='\u{a4cf}' // punctuation, Kana, Bopomofo, ideographs, Yi
        | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7ff}' // Hangul
        | '\u{f900}'..='\u{faff}' // compatibility ideographs
        | '\u{fe30}'..='\u{fe4f}' // compatibility forms
        | '\u{ff01}'..='\u{ffee}' // full-width and half-width forms
        | '\u{1aff0}'..='\u{1b16f}' // Kana
        | '\u{1f200}'..='\u{1f2ff}' // enclosed ideographs
        | '\u{20000}'..='\u{3fffd}' // more ideographs
    )
}

/// Returns `true` if CommonMark treats the character as punctuation. Lists only characters found in CJK text.
fn is_punctuation(c: char) -> bool {
    c.is_ascii_punctuation()
        || matches!(c,
            '\u{a1}'..='\u{a9}' | '\u{ab}' | '\u{ac}' | '\u{ae}'..='\u{b1}' | '\u{b4}' | '\u{b6}'..='\u{b8}'
            | '\u{bb}' | '\u{bf}' | '\u{d7}' | '\u{f7}'
            | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{205e}' | '\u{20a0}'..='\u{20c0}'
            | '\u{2190}'..='\u{23ff}' | '\u{2500}'..='\u{27bf}' | '\u{2900}'..='\u{2bff}' | '\u{2e00}'..='\u{2e5d}'
            | '\u{3001}'..='\u{3004}' | '\u{3008}'..='\u{3020}' | '\u{3030}' | '\u{303d}' | '\u{30a0}' | '\u{30fb}'
            | '\u{fe30}'..='\u{fe4f}'
            | '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff40}' | '\u{ff5b}'..='\u{ff65}'
            | '\u{ffe0}'..='\u{ffee}')
}

/// Returns possible replacements for `original`, of the same length and of the kind that the role requires.
/// Letters are replaced with private-use or control characters, and punctuation with rare punctuation marks.
fn candidates(original: char, role: Role) -> RangeInclusive<char> {
    // CJK characters have three or four bytes, and `_` has one.
    match (original.len_utf8(), role) {
        (1, _) => '\u{1}'..='\u{8}',
        (3, Role::Letter) => '\u{e000}'..='\u{f8ff}',
        (3, Role::Punctuation) => '\u{2e30}'..='\u{2e4f}',
        (_, Role::Letter) => '\u{f0000}'..='\u{f1000}',
        (_, Role::Punctuation) => '\u{10a50}'..='\u{10a58}',
    }
}
