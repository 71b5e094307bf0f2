//! Finds characters that a reader cannot see, or that change how the text around them reads, and writes them as codes such as
//! `⟨U+202E⟩`. Ordinary emoji, and the joiners that Persian and Indic words need, are left alone.

use std::{borrow::Cow, fmt::Write as _};

use crate::language::Language;

/// Longer runs of blank lines are collapsed into their count.
const MAX_BLANK_LINES: usize = 3;
/// More combining marks on one character are written as codes: they would cover the lines around it.
const MAX_STACKED: usize = 6;

/// The only sequences of tag characters in use: the flags of England, Scotland and Wales.
const TAGGED_FLAGS: [&str; 3] = [
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

/// Why a character is written as a code.
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
    /// Looks like a space and is none.
    Space,
    /// One of very many marks on one character.
    Stacked,
}

impl Kind {
    const ALL: [Self; 6] = [Self::Direction, Self::Invisible, Self::Tag, Self::Control, Self::Space, Self::Stacked];
}

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'a> {
    /// Text that can be shown as it is.
    Plain(&'a str),
    /// Characters to be shown as [`codes`].
    Hidden(&'a str),
    /// A run of this many lines without anything but spaces. The line break after it belongs to the next piece.
    BlankLines(usize),
}

/// The characters of a text, each with its offset and, if it is to be written as a code, why.
struct Characters<'a> {
    text: &'a str,
    at: usize,
    /// The end of a sequence that is fine as a whole.
    fine_until: usize,
    before: Option<char>,
    stacked: usize,
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
        let after = rest[c.len_utf8()..].chars().next();
        let kind = if at < self.fine_until {
            None
        } else if self.stacked > MAX_STACKED {
            Some(Kind::Stacked)
        } else {
            kind_of(self.before, c, after)
        };
        self.at = at + c.len_utf8();
        self.before = Some(c);
        Some((at, c, kind))
    }
}

fn characters(text: &str) -> Characters<'_> {
    Characters { text, at: 0, fine_until: 0, before: None, stacked: 0 }
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
        // Written in Japanese and Chinese as a space is elsewhere.
        '\u{3000}' if has(is_east_asian, before) || has(is_east_asian, after) => return None,
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => Kind::Space,
        '\u{fe0e}' | '\u{fe0f}' if has(is_emoji, before) => return None,
        // The emoji of a key, as `1️⃣`.
        '\u{fe0f}' if matches!(before, Some('0'..='9' | '#' | '*')) && after == Some('\u{20e3}') => return None,
        '\u{200d}' if has(|c| is_emoji(c) || c == '\u{fe0f}', before) && has(is_emoji, after) => return None,
        '\u{200c}' if has(joins_next, before) && has(is_arabic, after) => return None,
        '\u{200c}' | '\u{200d}' if has(is_virama, before) && has(char::is_alphabetic, after) => return None,
        c if is_invisible(c) => Kind::Invisible,
        _ => return None,
    })
}

/// Unicode's default ignorable code points, and others that nothing is drawn for.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fdd0}'..='\u{fdef}'
        | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffc}' | '\u{13430}'..='\u{13455}'
        | '\u{1bca0}'..='\u{1bca3}' | '\u{1d159}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0080}'..='\u{e0fff}'
    ) || u32::from(c) & 0xfffe == 0xfffe
}

/// Symbols that a variation selector or a joiner makes another picture of.
fn is_emoji(c: char) -> bool {
    matches!(
        c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}' | '\u{24c2}' | '\u{25a0}'..='\u{27bf}' | '\u{2934}'..='\u{2935}'
        | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}'
    )
}

/// Arabic letters that join the next one, so that a non-joiner after them can be seen.
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

/// Marks that are drawn over or under the character before them.
fn is_mark(c: char) -> bool {
    matches!(
        c,
        '\u{300}'..='\u{34e}' | '\u{350}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5bd}'
        | '\u{610}'..='\u{61a}' | '\u{64b}'..='\u{65f}' | '\u{e31}' | '\u{e34}'..='\u{e3a}' | '\u{e47}'..='\u{e4e}'
        | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}'
    )
}

/// The pieces of a text, in order. None of them is empty.
pub fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let (mut begin, mut hides, mut is_line_start, mut blank_until) = (0, false, true, 0);
    for (at, c, kind) in characters(text) {
        if at < blank_until {
            continue;
        }
        if is_line_start && let Some((lines, length)) = blank_lines(&text[at..]) {
            push(&mut pieces, &text[begin..at], hides);
            pieces.push(Piece::BlankLines(lines));
            blank_until = at + length;
            (begin, hides, is_line_start) = (blank_until, false, false);
            continue;
        }
        is_line_start = c == '\n';
        if kind.is_some() != hides {
            push(&mut pieces, &text[begin..at], hides);
            (begin, hides) = (at, kind.is_some());
        }
    }
    push(&mut pieces, &text[begin..], hides);
    pieces
}

fn push<'a>(pieces: &mut Vec<Piece<'a>>, text: &'a str, hides: bool) {
    if !text.is_empty() {
        pieces.push(if hides { Piece::Hidden(text) } else { Piece::Plain(text) });
    }
}

/// Counts the blank lines at the start of `text`, and their bytes up to the last line break, if they are too many to be shown.
fn blank_lines(text: &str) -> Option<(usize, usize)> {
    let is_blank = |line: &&str| {
        let line = line.strip_suffix('\n').map(|line| line.strip_suffix('\r').unwrap_or(line));
        line.is_some_and(|line| line.bytes().all(|byte| matches!(byte, b' ' | b'\t')))
    };
    let (lines, length) = text
        .split_inclusive('\n')
        .take_while(is_blank)
        .fold((0_usize, 0_usize), |(lines, length), line| (lines + 1, length + line.len()));
    (lines > MAX_BLANK_LINES).then(|| (lines, length - 1))
}

/// The codes of hidden characters: `⟨U+200B⟩`, or `⟨U+200B ×3⟩` for the same one repeated.
pub fn codes(hidden: &str) -> String {
    let mut codes = String::new();
    let mut chars = hidden.chars().peekable();
    while let Some(c) = chars.next() {
        let mut count = 1;
        while chars.next_if_eq(&c).is_some() {
            count += 1;
        }
        // Writing to a string does not fail.
        let _ = write!(codes, "⟨U+{:04X}", u32::from(c));
        if count > 1 {
            let _ = write!(codes, " ×{count}");
        }
        codes.push('⟩');
    }
    codes
}

/// A text for one line, with codes in it.
pub fn escaped(text: &str) -> Cow<'_, str> {
    if characters(text).all(|(_, _, kind)| kind.is_none()) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut hidden = String::new();
    for (_, c, kind) in characters(text) {
        if kind.is_some() {
            hidden.push(c);
        } else {
            shown.push_str(&codes(&std::mem::take(&mut hidden)));
            shown.push(c);
        }
    }
    shown.push_str(&codes(&hidden));
    Cow::Owned(shown)
}

/// JSON that means the same, with hidden characters written as JSON's own escapes, so that they can be seen in a field.
pub fn escaped_json(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for (_, c, kind) in characters(json) {
        if kind.is_some() {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = write!(shown, "\\u{unit:04x}");
            }
        } else {
            shown.push(c);
        }
    }
    shown
}

/// Counts of the characters that are written as codes, by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found([usize; Kind::ALL.len()]);

impl Found {
    /// Counts those of a text as well.
    pub fn add(&mut self, text: &str) {
        for kind in characters(text).filter_map(|(_, _, kind)| kind) {
            self.0[kind as usize] += 1;
        }
    }

    /// Those of a text.
    pub fn of(text: &str) -> Self {
        let mut found = Self::default();
        found.add(text);
        found
    }

    /// The sentence that names what was found; `None` if nothing was.
    pub fn warning(self, language: Language) -> Option<String> {
        let counts = Kind::ALL.into_iter().zip(self.0).filter(|(_, count)| *count > 0);
        let named: Vec<String> = counts.map(|(kind, count)| named(language, kind, count)).collect();
        if named.is_empty() {
            return None;
        }
        Some(match language {
            Language::English => {
                format!(
                    "Some characters in this text are invisible or misleading. They are shown as codes: {}.",
                    named.join(", ")
                )
            }
            Language::Japanese => {
                format!(
                    "見えない文字や紛らわしい文字が含まれています。コードで表示しています（{}）。",
                    named.join("、")
                )
            }
        })
    }
}

fn named(language: Language, kind: Kind, count: usize) -> String {
    let (one, many, japanese) = match kind {
        Kind::Direction => ("text direction control", "text direction controls", "文字方向の制御"),
        Kind::Invisible => ("invisible character", "invisible characters", "見えない文字"),
        Kind::Tag => ("hidden tag character", "hidden tag characters", "隠れたタグ文字"),
        Kind::Control => ("control character", "control characters", "制御文字"),
        Kind::Space => ("unusual space", "unusual spaces", "特殊な空白"),
        Kind::Stacked => ("stacked mark", "stacked marks", "重ねられた記号"),
    };
    match language {
        Language::English if count == 1 => format!("1 {one}"),
        Language::English => format!("{count} {many}"),
        Language::Japanese => format!("{japanese}{count}個"),
    }
}

/// Describes a run of blank lines that is collapsed.
pub fn blank_lines_of(language: Language, lines: usize) -> String {
    match language {
        Language::English => format!("⟨{lines} blank lines⟩"),
        Language::Japanese => format!("⟨空行{lines}行⟩"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Found, Kind, Piece, codes, escaped, escaped_json, pieces};
    use crate::language::Language;

    const HIDDEN: [char; 2] = ['\u{200b}', '\u{202e}'];

    #[test]
    fn what_cannot_be_seen_is_written_as_a_code() {
        for (text, shown) in [
            ("ann@example.org\u{200b}.evil.example", "ann@example.org⟨U+200B⟩.evil.example"),
            ("safe\u{202e}txt.exe", "safe⟨U+202E⟩txt.exe"),
            ("a\u{2066}b\u{2069}", "a⟨U+2066⟩b⟨U+2069⟩"),
            ("hi\u{e0041}\u{e0042}", "hi⟨U+E0041⟩⟨U+E0042⟩"),
            ("a\u{200b}\u{200b}\u{200b}b", "a⟨U+200B ×3⟩b"),
            ("a\u{1b}[2Kb\u{7f}\u{9b}\0", "a⟨U+001B⟩[2Kb⟨U+007F⟩⟨U+009B⟩⟨U+0000⟩"),
            ("safe\rrm", "safe⟨U+000D⟩rm"),
            ("a\u{2028}b\u{85}c", "a⟨U+2028⟩b⟨U+0085⟩c"),
            ("rm\u{a0}-rf\u{2003}/\u{3000}x", "rm⟨U+00A0⟩-rf⟨U+2003⟩/⟨U+3000⟩x"),
            ("a\u{3164}b\u{ad}c\u{feff}d\u{2800}e", "a⟨U+3164⟩b⟨U+00AD⟩c⟨U+FEFF⟩d⟨U+2800⟩e"),
            ("a\u{fe0f}b\u{e0101}c\u{200d}d", "a⟨U+FE0F⟩b⟨U+E0101⟩c⟨U+200D⟩d"),
            ("1\u{fe0f}2", "1⟨U+FE0F⟩2"),
            ("😀\u{fe0f}\u{fe0f}", "😀\u{fe0f}⟨U+FE0F⟩"),
            ("😀\u{200d}rm", "😀⟨U+200D⟩rm"),
            ("\u{1f3f4}\u{e0072}\u{e006d}\u{e007f}", "\u{1f3f4}⟨U+E0072⟩⟨U+E006D⟩⟨U+E007F⟩"),
            ("\u{e0067}", "⟨U+E0067⟩"),
            ("د\u{200c}ا", "د⟨U+200C⟩ا"),
            ("\u{ffff}\u{10fffe}", "⟨U+FFFF⟩⟨U+10FFFE⟩"),
        ] {
            assert_eq!(escaped(text), shown);
        }
        let stacked = format!("a{}b", "\u{301}".repeat(200));
        assert_eq!(escaped(&stacked), format!("a{}⟨U+0301 ×194⟩b", "\u{301}".repeat(6)));
    }

    #[test]
    fn ordinary_text_raises_no_alarm() {
        for text in [
            "plain text\n\twith tabs\r\nand lines",
            "👨\u{200d}👩\u{200d}👧 🏳\u{fe0f}\u{200d}🌈 ❤\u{fe0f} 1\u{fe0f}\u{20e3} 👍🏽 🇯🇵 ☎\u{fe0e} 🧑🏽\u{200d}💻",
            "🏴\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
            "مرحبا بالعالم, שלום עולם, שָׁלוֹם",
            "می\u{200c}خواهم، کتاب\u{200c}ها",
            "क्\u{200d}ष श्री\u{200d}".trim_end_matches('\u{200d}'),
            "東京　大阪\n　段落。",
            "naïve nai\u{308}ve Việt ก็ที่",
            "→ ≤ ∑ 𝒳 € “quoted” … –",
        ] {
            assert_eq!(escaped(text), text);
            assert_eq!(Found::of(text).warning(Language::English), None, "{text}");
            assert_eq!(pieces(text), [Piece::Plain(text)]);
        }
    }

    #[test]
    fn long_runs_of_blank_lines_are_counted() {
        let text = format!("\"fine\"{}rm -rf /", "\n".repeat(300));
        assert_eq!(pieces(&text), [Piece::Plain("\"fine\"\n"), Piece::BlankLines(299), Piece::Plain("\nrm -rf /")]);
        let text = format!("a\n{}b", " \t\r\n".repeat(5));
        assert_eq!(pieces(&text), [Piece::Plain("a\n"), Piece::BlankLines(5), Piece::Plain("\nb")]);
        assert_eq!(pieces("\n\n\n\n"), [Piece::BlankLines(4), Piece::Plain("\n")]);
        assert_eq!(pieces("a\n\n\n\nb"), [Piece::Plain("a\n\n\n\nb")], "three are shown as they are");
        assert_eq!(pieces(""), []);
    }

    #[test]
    fn the_warning_names_what_was_found() {
        let found = Found::of("a\u{202e}b\u{200b}\u{200b}c\u{e0041}\u{7}\u{a0}");
        let english = found.warning(Language::English).unwrap();
        for named in [
            "1 text direction control,",
            "2 invisible characters",
            "1 hidden tag character",
            "1 control",
            "1 unusual space",
        ] {
            assert!(english.contains(named), "{english}");
        }
        assert!(found.warning(Language::Japanese).unwrap().contains("見えない文字2個"));
        assert_eq!(Kind::ALL.map(|kind| kind as usize), [0, 1, 2, 3, 4, 5], "counts are kept by kind");
    }

    #[test]
    fn json_stays_the_same_json() {
        let json = "{\"to\u{200b}\": \"a\u{202e}b\u{e0041}\", \"n\": 1.50}";
        let shown = escaped_json(json);
        assert_eq!(shown, r#"{"to\u200b": "a\u202eb\udb40\udc41", "n": 1.50}"#);
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
        assert_eq!(value(&shown), value(json));
    }

    proptest! {
        #[test]
        fn pieces_lose_nothing(text in "[a\n \u{200b}\u{202e}\u{301}🙂\u{fe0f}\u{200d}計\r]{0,40}") {
            let pieces = pieces(&text);
            let kept: String = pieces.iter().map(|piece| match piece {
                Piece::Plain(text) | Piece::Hidden(text) => (*text).to_owned(),
                Piece::BlankLines(_) => String::new(),
            }).collect();
            let without_space = |text: &str| text.replace(['\n', ' ', '\r'], "");
            prop_assert_eq!(without_space(&kept), without_space(&text));
            for piece in pieces {
                if let Piece::Plain(text) = piece {
                    prop_assert!(!text.is_empty() && !text.contains(HIDDEN));
                }
            }
            prop_assert!(!escaped(&text).contains(HIDDEN));
            prop_assert!(codes(&text).len() <= text.len() * 14);
        }
    }
}
