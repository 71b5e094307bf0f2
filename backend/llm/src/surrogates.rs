//! Repairs characters outside the basic plane that a server writes as two escapes (`\ud83d\ude00`) in two portions of
//! an answer. Each of these surrogates alone is valid in JSON text, but not in a Rust string. So frames are repaired
//! before they are parsed as JSON: a high and a low surrogate are joined, and a lone surrogate becomes U+FFFD. This
//! module does not know any provider's JSON.

use std::ops::Range;

use tallybook_protocol::sse::Frame;

/// U+FFFD, as long as the escape that it replaces.
const REPLACEMENT: &str = r"\ufffd";
const ESCAPE_BYTES: usize = REPLACEMENT.len();

/// Maximum number of surrogates of one frame that wait for their other half, which bounds the work per frame. A frame
/// usually has one growing text, sometimes the same text twice.
const MAX_WAITING: usize = 8;

/// State of the repair of one answer's frames.
#[derive(Debug, Default)]
pub(crate) struct Surrogates {
    /// A frame with a string that ends with a high surrogate. The next frame determines whether a low surrogate
    /// follows.
    pending: Option<Pending>,
}

#[derive(Debug)]
struct Pending {
    frame: Frame,
    firsts: Vec<Half>,
}

/// A surrogate at the edge of a JSON string. Its other half may be in another frame.
#[derive(Debug)]
struct Half {
    /// Position of its escape, in bytes.
    at: usize,
    /// Position of the string's key in the text of the same frame.
    key: Range<usize>,
}

/// The surrogates of a frame whose other half may be in another frame: high surrogates at the end of a string, low
/// surrogates at its beginning.
#[derive(Debug, Default)]
struct Edges {
    firsts: Vec<Half>,
    seconds: Vec<Half>,
}

impl Surrogates {
    /// Takes a frame and returns the frames that can be parsed now, in order.
    pub(crate) fn push(&mut self, mut frame: Frame) -> impl Iterator<Item = Frame> + use<> {
        // Servers send pings anywhere. A ping does not affect the text before and after it.
        if frame.event == "ping" {
            return None.into_iter().chain(Some(frame));
        }
        let mut edges = mend(&mut frame.data);
        let before = self.pending.take().map(|pending| pending.join(&mut frame, &edges.seconds));
        if before.is_some() {
            edges = mend(&mut frame.data);
        }
        for half in edges.seconds {
            replace(&mut frame.data, &half);
        }
        let is_whole = edges.firsts.is_empty();
        let this = if is_whole { Some(frame) } else { self.hold(frame, edges.firsts) };
        before.into_iter().chain(this)
    }

    fn hold(&mut self, frame: Frame, firsts: Vec<Half>) -> Option<Frame> {
        self.pending = Some(Pending { frame, firsts });
        None
    }

    /// Ends the stream. Returns the pending frame, if there is one.
    pub(crate) fn end(&mut self) -> Option<Frame> {
        self.pending.take().map(|pending| pending.join(&mut Frame::default(), &[]))
    }
}

impl Pending {
    /// Moves the matching low surrogates from the next frame to this frame. Replaces a high surrogate that has none.
    fn join(mut self, next: &mut Frame, seconds: &[Half]) -> Frame {
        let mut found: Vec<&Half> = Vec::new();
        // Starts at the end, so that earlier positions stay valid.
        for first in self.firsts.iter().rev() {
            let key = &self.frame.data[first.key.clone()];
            let fits = |half: &&Half| next.data[half.key.clone()] == *key && !found.iter().any(|one| one.at == half.at);
            match seconds.iter().rev().find(fits) {
                Some(second) => {
                    found.push(second);
                    let escape = &next.data[second.at..second.at + ESCAPE_BYTES];
                    self.frame.data.insert_str(first.at + ESCAPE_BYTES, escape);
                }
                None => replace(&mut self.frame.data, first),
            }
        }
        found.sort_by_key(|half| std::cmp::Reverse(half.at));
        for half in found {
            next.data.replace_range(half.at..half.at + ESCAPE_BYTES, "");
        }
        self.frame
    }
}

fn replace(json: &mut String, half: &Half) {
    json.replace_range(half.at..half.at + ESCAPE_BYTES, REPLACEMENT);
}

/// Replaces the lone surrogates within strings, and returns those at the edges of strings.
fn mend(json: &mut String) -> Edges {
    let mut edges = Edges::default();
    if !json.contains(r"\ud") && !json.contains(r"\uD") {
        return edges;
    }
    let (mut at, mut string_start) = (0, None);
    let (mut key, mut last_string) = (0..0, 0..0);
    while let Some(&byte) = json.as_bytes().get(at) {
        let mut step = 1;
        match (byte, string_start) {
            (b'"', None) => string_start = Some(at + 1),
            (b'"', Some(start)) => {
                last_string = start..at;
                string_start = None;
            }
            (b':', None) => key = last_string.clone(),
            (b'\\', Some(start)) => match (unit(json, at), unit(json, at + ESCAPE_BYTES)) {
                (Unit::First, Unit::Second) => step = 2 * ESCAPE_BYTES,
                (Unit::Other, _) => step = 2,
                (half, _) => {
                    step = ESCAPE_BYTES;
                    let is_last = json.as_bytes().get(at + step) == Some(&b'"');
                    let edge = match half {
                        Unit::First if is_last => Some(&mut edges.firsts),
                        Unit::Second if at == start => Some(&mut edges.seconds),
                        _ => None,
                    };
                    let half = Half { at, key: key.clone() };
                    match edge.filter(|waiting| waiting.len() < MAX_WAITING) {
                        Some(waiting) => waiting.push(half),
                        None => replace(json, &half),
                    }
                }
            },
            _ => {}
        }
        at += step;
    }
    edges
}

/// The meaning of an escape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// A high surrogate, the first of a pair.
    First,
    /// A low surrogate, the second of a pair.
    Second,
    /// Another character, or an escape without a code.
    Other,
}

fn unit(json: &str, at: usize) -> Unit {
    let digits = json.get(at..at + ESCAPE_BYTES).and_then(|escape| escape.strip_prefix(r"\u"));
    let is_hex = |digits: &&str| digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    match digits.filter(is_hex).and_then(|digits| u16::from_str_radix(digits, 16).ok()) {
        Some(0xd800..=0xdbff) => Unit::First,
        Some(0xdc00..=0xdfff) => Unit::Second,
        _ => Unit::Other,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::{Frame, Surrogates};

    fn mended(frames: &[String]) -> Vec<String> {
        let mut surrogates = Surrogates::default();
        let frame = |data: &String| Frame { data: data.clone(), ..Frame::default() };
        let mut ready: Vec<Frame> = frames.iter().flat_map(|data| surrogates.push(frame(data))).collect();
        ready.extend(surrogates.end());
        ready.into_iter().map(|frame| frame.data).collect()
    }

    fn texts(pieces: &[String]) -> Vec<String> {
        pieces.iter().map(|piece| format!(r#"{{"a":[1,"x"],"text":"{piece}"}}"#)).collect()
    }

    #[test]
    fn a_half_waits_only_for_the_same_key() {
        let frames = [r#"{"a":"\ud83d","b":"x\ud83d"}"#.to_owned(), r#"{"b":"\ude00","c":"\ude00"}"#.to_owned()];
        let expected = [r#"{"a":"\ufffd","b":"x\ud83d\ude00"}"#, r#"{"b":"","c":"\ufffd"}"#];
        assert_eq!(mended(&frames), expected);
    }

    #[test]
    fn several_halves_of_one_frame() {
        let frames = [r#"[{"a":"\ud83d"},{"a":"\ud83e"}]"#.to_owned(), r#"[{"a":"\ude00"},{"a":"\udd14"}]"#.to_owned()];
        assert_eq!(mended(&frames), [r#"[{"a":"\ud83d\ude00"},{"a":"\ud83e\udd14"}]"#, r#"[{"a":""},{"a":""}]"#]);
        let many = format!("[{}]", vec![r#""\ud83d""#; 100_000].join(","));
        let halves = mended(&[many.clone(), many.replace("d83d", "de00")]);
        assert!(halves.iter().all(|json| serde_json::from_str::<Value>(json).is_ok()));
    }

    #[test]
    fn text_that_is_not_json_stays_unchanged() {
        for text in ["[DONE]", "", r"\ud83d", r#""\ud8"#, r#""\ud83"#, r#""\u+83d""#, r#""\"#, "\u{1f600}\\ud"] {
            assert_eq!(mended(&[text.to_owned()]), [text]);
        }
    }

    /// Returns frames with these UTF-16 units as escapes. A frame ends after each unit that has `true`.
    fn escaped(units: &[(u16, bool)]) -> Vec<String> {
        let pieces = units
            .split_inclusive(|(_, is_last)| *is_last)
            .map(|piece| piece.iter().map(|(unit, _)| format!("\\u{unit:04x}")).collect::<Vec<_>>().concat());
        texts(&pieces.collect::<Vec<_>>())
    }

    /// Returns the joined texts of the repaired frames.
    fn joined(frames: &[String]) -> String {
        let texts = mended(frames).into_iter().map(|json| {
            let value: Value = serde_json::from_str(&json).unwrap();
            value["text"].as_str().unwrap().to_owned()
        });
        texts.collect()
    }

    proptest! {
        #[test]
        fn any_cut_of_a_text_between_its_units_gives_the_text(text in "[a\"\\\\\n😀é🤔]{0,12}", cuts in any::<u32>()) {
            let units = text.encode_utf16().enumerate().map(|(at, unit)| (unit, cuts >> (at % 32) & 1 == 1));
            prop_assert_eq!(joined(&escaped(&units.collect::<Vec<_>>())), text);
        }

        #[test]
        fn frames_stay_valid_for_any_surrogates(
            units in proptest::collection::vec((0xd7ff_u16..=0xe000, any::<bool>()), 0..20),
        ) {
            let expected = String::from_utf16_lossy(&units.iter().map(|(unit, _)| *unit).collect::<Vec<_>>());
            prop_assert_eq!(joined(&escaped(&units)), expected);
        }
    }
}
