//! Decodes plain text in UTF-8, UTF-16, `Shift_JIS`, EUC-JP and other encodings, and splits it into pages.

use std::{borrow::Cow, path::Path};

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{DecoderResult, Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE};

use crate::pages::Pages;

/// Maximum length of the text by which an encoding is guessed, in bytes.
const SAMPLE_BYTES: usize = 256 * 1024;
/// Media types of text by the extension of the file's name.
const MEDIA_TYPES: [(&str, &[&str]); 23] = [
    ("text/csv", &["csv"]),
    ("text/tab-separated-values", &["tsv", "tab"]),
    ("text/markdown", &["md", "markdown", "mdown"]),
    ("application/json", &["json", "geojson", "ipynb"]),
    ("application/jsonl", &["jsonl", "ndjson"]),
    ("application/yaml", &["yaml", "yml"]),
    ("application/toml", &["toml"]),
    ("application/sql", &["sql"]),
    ("text/css", &["css", "scss", "less"]),
    ("text/javascript", &["js", "mjs", "cjs", "jsx"]),
    ("text/x-typescript", &["ts", "tsx", "mts"]),
    ("text/x-python", &["py", "pyi"]),
    ("text/x-rust", &["rs"]),
    ("text/x-go", &["go"]),
    ("text/x-c", &["c", "h"]),
    ("text/x-c++", &["cc", "cpp", "cxx", "hh", "hpp"]),
    ("text/x-csharp", &["cs"]),
    ("text/x-java", &["java"]),
    ("text/x-kotlin", &["kt", "kts"]),
    ("text/x-swift", &["swift"]),
    ("text/x-ruby", &["rb"]),
    ("text/x-php", &["php"]),
    ("text/x-shellscript", &["sh", "bash", "zsh"]),
];

/// Splits the text into pages.
pub(crate) fn read(text: &str) -> Pages {
    Pages::split(text)
}

/// Returns the media type of text in a file with this name. SVG, XML and unknown extensions are plain text, so that
/// no browser renders them.
pub(crate) fn media_type(name: &str) -> &'static str {
    let extension = Path::new(name).extension().and_then(|extension| extension.to_str()).map(str::to_lowercase);
    let known = extension.and_then(|extension| {
        MEDIA_TYPES.into_iter().find_map(|(media_type, all)| all.contains(&extension.as_str()).then_some(media_type))
    });
    known.unwrap_or("text/plain")
}

/// Decodes the file if it is text. The encoding that the file itself declares, `declared`, is used unless the bytes
/// say otherwise. A character that is cut off at the end of the file is dropped.
pub(crate) fn decode(file: &[u8], declared: Option<&'static Encoding>) -> Option<String> {
    if let Some((encoding, mark)) = Encoding::for_bom(file) {
        return decode_as(encoding, &file[mark..]).filter(|text| !looks_binary(text));
    }
    if file.contains(&0) {
        // No other text contains zeros. In UTF-16, they are all on the same side of the pairs.
        let first_is_zero = file.iter().step_by(2).any(|byte| *byte == 0);
        let encoding = if first_is_zero { UTF_16BE } else { UTF_16LE };
        return decode_as(encoding, file).filter(|text| !text.contains('\0') && !looks_binary(text));
    }
    // ISO-2022-JP is also valid ASCII: it switches to Japanese with an escape sequence.
    if file.windows(3).any(|window| matches!(window, b"\x1b$B" | b"\x1b$@"))
        && let Some(text) = decode_as(ISO_2022_JP, file)
    {
        return Some(text);
    }
    if let Some(text) = decode_as(UTF_8, file) {
        return Some(text).filter(|text| !looks_binary(text));
    }
    let guessed = || {
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
        // `false`: the sample can end within a character.
        detector.feed(&file[..file.len().min(SAMPLE_BYTES)], false);
        detector.guess(None, Utf8Detection::Deny)
    };
    let text = decode_as(declared.unwrap_or_else(guessed), file)?;
    // Random bytes are valid in several old encodings, but contain control characters.
    let is_control = |character: char| character.is_control() && !is_layout(character);
    (!text.contains(is_control)).then_some(text)
}

fn decode_as(encoding: &'static Encoding, bytes: &[u8]) -> Option<String> {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let mut text = String::with_capacity(decoder.max_utf8_buffer_length(bytes.len())?);
    // `false`: an incomplete character at the end is no error.
    let (result, _) = decoder.decode_to_string_without_replacement(bytes, &mut text, false);
    (result == DecoderResult::InputEmpty).then_some(text)
}

/// Whether more than a hundredth of the characters are control characters. Logs contain a few.
fn looks_binary(text: &str) -> bool {
    let control = text.chars().filter(|character| character.is_control() && !is_layout(*character)).count();
    control > text.len() / 100
}

/// Tabs, line and page ends, and the escape character of terminals and ISO-2022-JP.
fn is_layout(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | '\u{c}' | '\u{1b}')
}

/// Returns the encoding that an HTML file declares in its first kilobyte, after `charset=`.
pub(crate) fn declared_in_html(file: &[u8]) -> Option<&'static Encoding> {
    let head: Cow<'_, str> = String::from_utf8_lossy(&file[..file.len().min(1024)]);
    let head = head.to_ascii_lowercase();
    let (_, after) = head.split_once("charset=")?;
    let label = after.trim_start_matches(['"', '\'']);
    let end = label.find(|character: char| !(character.is_ascii_alphanumeric() || "-_:".contains(character)));
    // A file whose declaration can be read without knowing UTF-16 is not in UTF-16.
    Encoding::for_label(&label.as_bytes()[..end.unwrap_or(label.len())])
        .filter(|encoding| encoding.is_ascii_compatible())
}

#[cfg(test)]
mod tests {
    use encoding_rs::{EUC_JP, ISO_2022_JP, SHIFT_JIS, WINDOWS_1252};

    use super::{decode, media_type};

    const JAPANESE: &str = "吾輩は猫である。名前はまだ無い。\nどこで生れたかとんと見当がつかぬ。\n";

    #[test]
    fn japanese_encodings_are_recognized() {
        for encoding in [SHIFT_JIS, EUC_JP, ISO_2022_JP] {
            let (bytes, _, _) = encoding.encode(JAPANESE);
            assert_eq!(decode(&bytes, None).as_deref(), Some(JAPANESE), "{}", encoding.name());
        }
    }

    #[test]
    fn utf_16_needs_no_mark() {
        let text = format!("{JAPANESE}and English, with spaces\n");
        for mark in ["", "\u{feff}"] {
            let units: Vec<u16> = format!("{mark}{text}").encode_utf16().collect();
            let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
            let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
            assert_eq!(decode(&little, None).as_deref(), Some(text.as_str()));
            assert_eq!(decode(&big, None).as_deref(), Some(text.as_str()));
        }
    }

    #[test]
    fn western_text_is_recognized() {
        let text = "Les élèves ont mangé à la cantine où il faisait très chaud.\n";
        let (bytes, _, _) = WINDOWS_1252.encode(text);
        assert_eq!(decode(&bytes, None).as_deref(), Some(text));
    }

    #[test]
    fn a_character_cut_off_at_the_end_is_dropped() {
        assert_eq!(decode(&"日本".as_bytes()[..5], None).as_deref(), Some("日"));
        let (bytes, _, _) = SHIFT_JIS.encode(JAPANESE);
        let cut = decode(&bytes[..bytes.len() - 2], None).unwrap();
        assert!(JAPANESE.starts_with(&cut));
    }

    #[test]
    fn bytes_that_are_no_text_are_not_decoded() {
        let noise: Vec<u8> = (0..4096_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let without_zeros: Vec<u8> = noise.iter().copied().filter(|byte| *byte != 0).collect();
        assert_eq!(decode(&noise, None), None);
        assert_eq!(decode(&without_zeros, None), None);
        assert_eq!(decode(b"\x7fELF\x02\x01\x01\0\0\0\0\0", None), None);
    }

    #[test]
    fn the_name_selects_the_media_type_of_text() {
        for (name, expected) in [
            ("a.CSV", "text/csv"),
            ("notes.md", "text/markdown"),
            ("main.rs", "text/x-rust"),
            ("logo.svg", "text/plain"),
            ("page.html", "text/plain"),
            ("Makefile", "text/plain"),
        ] {
            assert_eq!(media_type(name), expected);
        }
    }
}
