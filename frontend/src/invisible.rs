//! Writes characters that are invisible, or that change how the text around them reads, as codes such as `⟨U+202E⟩`,
//! and names them in a warning. `characters` finds them.

mod characters;

use std::{borrow::Cow, fmt::Write as _};

pub use self::characters::Kind;
use self::characters::characters;
use crate::language::Language;

/// Longer runs of blank lines are collapsed into their count.
const MAX_BLANK_LINES: usize = 3;

/// A piece of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Piece<'a> {
    /// Text that can be shown as it is.
    Plain(&'a str),
    /// Characters to be shown as [`codes`].
    Hidden(&'a str),
    /// A run of this many lines without anything but spaces. The line break after it belongs to the next piece.
    BlankLines(usize),
}

/// A text shows codes for at most this many places on their own; further codes are part of the text around them.
const MAX_MARKS: usize = 1000;

/// A part of a text as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShownPart {
    /// Text that can be shown as it is.
    Text(String),
    /// Codes of hidden characters, or the number of collapsed lines.
    Mark(String),
}

/// Returns the parts of a text with marks in the place of what cannot be seen.
pub fn shown(text: &str, language: Language) -> Vec<ShownPart> {
    let (mut parts, mut marks, mut words) = (Vec::new(), 0, String::new());
    for piece in pieces(text) {
        let mark = match piece {
            Piece::Plain(plain) => {
                words.push_str(plain);
                continue;
            }
            Piece::Hidden(hidden) => codes(hidden),
            Piece::BlankLines(lines) => blank_lines_of(language, lines),
        };
        marks += 1;
        if marks > MAX_MARKS {
            words.push_str(&mark);
        } else {
            parts.extend([ShownPart::Text(std::mem::take(&mut words)), ShownPart::Mark(mark)]);
        }
    }
    parts.push(ShownPart::Text(words));
    parts
}

/// Splits a text into pieces, in order. No piece is empty.
fn pieces(text: &str) -> Vec<Piece<'_>> {
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

/// Counts the blank lines at the start of `text`, and their bytes up to the last line break. Returns `None` if they
/// are few enough to be shown.
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

/// Returns the codes of hidden characters: `⟨U+200B⟩`, or `⟨U+200B ×3⟩` for a repeated character.
fn codes(hidden: &str) -> String {
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

/// Returns a text for one line, with its hidden characters written as codes.
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

/// Returns equivalent JSON with hidden characters written as JSON escapes, so that they are visible in a text field.
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
    /// Adds the counts of a text.
    pub fn add(&mut self, text: &str) {
        for kind in characters(text).filter_map(|(_, _, kind)| kind) {
            self.0[kind as usize] += 1;
        }
    }

    /// Counts the hidden characters of a text.
    pub fn of(text: &str) -> Self {
        let mut found = Self::default();
        found.add(text);
        found
    }

    /// Returns the sentence that names the characters; `None` if none were found.
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
fn blank_lines_of(language: Language, lines: usize) -> String {
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
    fn invisible_characters_are_written_as_codes() {
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
        let stacked = format!("क{}", "\u{901}".repeat(200));
        assert_eq!(escaped(&stacked), format!("क{}⟨U+0901 ×184⟩", "\u{901}".repeat(16)));
    }

    #[test]
    fn ordinary_text_is_unchanged_and_has_no_warning() {
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
    fn the_warning_names_each_kind_with_its_count() {
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
    fn escaped_json_is_equivalent() {
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
