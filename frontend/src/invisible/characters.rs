//! Finds characters that are invisible, or that change how the text around them reads. Ordinary emoji, and the
//! joiners that Persian and Indic words need, do not count.

use tallybook_nodes::MAX_MARKS;

/// Maximum number of combining marks on one character. Further marks are written as codes, because they would cover
/// the lines around it.
const MAX_STACKED: usize = 6;

/// The only sequences of tag characters in use: the flags of England, Scotland and Wales.
const TAGGED_FLAGS: [&str; 3] = [
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

/// The reason why a character is written as a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Changes the direction of the text after it.
    Direction,
    /// Takes no width on the line.
    Invisible,
    /// Spells hidden text.
    Tag,
    /// Controls a terminal, not a text.
    Control,
    /// Looks like a space but is another character.
    Space,
    /// A combining mark beyond the maximum for one character.
    Stacked,
}

impl Kind {
    pub(super) const ALL: [Self; 6] =
        [Self::Direction, Self::Invisible, Self::Tag, Self::Control, Self::Space, Self::Stacked];
}

/// The characters of a text, each with its offset. If a character is written as a code, its item has the reason.
pub(super) struct Characters<'a> {
    text: &'a str,
    at: usize,
    /// End of a sequence that is valid as a whole.
    fine_until: usize,
    before: Option<char>,
    /// Number of consecutive marks that [`is_mark`] finds.
    stacked: usize,
    /// Number of consecutive marks of any kind.
    marks: usize,
}

impl Iterator for Characters<'_> {
    type Item = (usize, char, Option<Kind>);

    fn next(&mut self) -> Option<Self::Item> {
        let at = self.at;
        let rest = self.text.get(at..)?;
        let c = rest.chars().next()?;
        if c == '\u{1f3f4}'
            && let Some(flag) = TAGGED_FLAGS.iter().find(|flag| rest.starts_with(**flag))
        {
            self.fine_until = at + flag.len();
        }
        self.stacked = if is_mark(c) { self.stacked + 1 } else { 0 };
        self.marks = if tallybook_nodes::is_mark(c) { self.marks + 1 } else { 0 };
        let after = rest[c.len_utf8()..].chars().next();
        let kind = if at < self.fine_until {
            None
        } else if let Some(kind) = kind_of(self.before, c, after) {
            Some(kind)
        } else {
            (self.stacked > MAX_STACKED || self.marks > MAX_MARKS).then_some(Kind::Stacked)
        };
        self.at = at + c.len_utf8();
        self.before = Some(c);
        Some((at, c, kind))
    }
}

pub(super) fn characters(text: &str) -> Characters<'_> {
    Characters { text, at: 0, fine_until: 0, before: None, stacked: 0, marks: 0 }
}

fn kind_of(before: Option<char>, c: char, after: Option<char>) -> Option<Kind> {
    let has = |is: fn(char) -> bool, neighbor: Option<char>| neighbor.is_some_and(is);
    Some(match c {
        ' '..='~' | '\n' | '\t' => return None,
        '\r' if after == Some('\n') => return None,
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => Kind::Direction,
        '\u{e0000}'..='\u{e007f}' => Kind::Tag,
        '\u{2028}' | '\u{2029}' => Kind::Control,
        c if c.is_control() => Kind::Control,
        // The ordinary space of Japanese and Chinese text.
        '\u{3000}' if has(is_east_asian, before) || has(is_east_asian, after) => return None,
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => Kind::Space,
        '\u{fe0e}' | '\u{fe0f}' if has(is_emoji, before) => return None,
        // The emoji of a key, such as `1️⃣`.
        '\u{fe0f}' if matches!(before, Some('0'..='9' | '#' | '*')) && after == Some('\u{20e3}') => return None,
        '\u{200d}' if has(|c| is_emoji(c) || c == '\u{fe0f}', before) && has(is_emoji, after) => return None,
        '\u{200c}' if has(joins_next, before) && has(is_arabic, after) => return None,
        '\u{200c}' | '\u{200d}' if has(is_virama, before) && has(char::is_alphabetic, after) => return None,
        c if is_invisible(c) => Kind::Invisible,
        _ => return None,
    })
}

/// Returns `true` for Unicode's default ignorable code points, and for others that are displayed as nothing.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fdd0}'..='\u{fdef}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffc}' | '\u{13430}'..='\u{13455}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0080}'..='\u{e0fff}'
    ) || u32::from(c) & 0xfffe == 0xfffe
}

/// Returns `true` for symbols that a variation selector or a joiner turns into another picture.
fn is_emoji(c: char) -> bool {
    matches!(
        c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}' | '\u{24c2}' | '\u{25a0}'..='\u{27bf}' | '\u{2934}'..='\u{2935}'
        | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}'
    )
}

/// Returns `true` for Arabic letters that join the next letter, so that a non-joiner after them is visible.
fn joins_next(c: char) -> bool {
    matches!(
        c,
        '\u{620}' | '\u{626}' | '\u{628}' | '\u{62a}'..='\u{62e}' | '\u{633}'..='\u{63f}' | '\u{641}'..='\u{647}'
        | '\u{649}'..='\u{64a}' | '\u{66e}'..='\u{66f}' | '\u{678}'..='\u{687}' | '\u{69a}'..='\u{6bf}'
        | '\u{6c1}'..='\u{6c2}' | '\u{6cc}' | '\u{6ce}' | '\u{6d0}'..='\u{6d1}'
    )
}

fn is_arabic(c: char) -> bool {
    matches!(c, '\u{620}'..='\u{64a}' | '\u{66e}'..='\u{66f}' | '\u{671}'..='\u{6d3}')
}

fn is_virama(c: char) -> bool {
    matches!(
        c,
        '\u{94d}'
            | '\u{9cd}'
            | '\u{a4d}'
            | '\u{acd}'
            | '\u{b4d}'
            | '\u{bcd}'
            | '\u{c4d}'
            | '\u{ccd}'
            | '\u{d4d}'
            | '\u{dca}'
    )
}

fn is_east_asian(c: char) -> bool {
    matches!(
        c,
        '\u{3001}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}'
        | '\u{ff01}'..='\u{ff9f}' | '\u{ffe0}'..='\u{ffe6}' | '\u{20000}'..='\u{3ffff}'
    )
}

/// Returns `true` for marks that are displayed above or below the character before them.
fn is_mark(c: char) -> bool {
    matches!(
        c,
        '\u{300}'..='\u{34e}' | '\u{350}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5bd}'
        | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}'
        | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}'
    )
}
