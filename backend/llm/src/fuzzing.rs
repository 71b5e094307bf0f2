//! Invariants that hold when any bytes are read as a model's answer. The fuzz targets in `fuzz/` assert these
//! invariants. A test in this file asserts them for the targets' seeds. The server does not contain this module.
//!
//! The input of a target is exactly what a provider would send, so that seeds can be read and written by hand. The
//! bytes themselves determine where the input is split into portions: any change to them changes the splits. While
//! fuzzing, the size limits are small (`limits.rs`), so that inputs reach them.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{Arc, LazyLock},
};

use serde_json::value::RawValue;
use tallybook_protocol::sse::{Decoder, Frame, MAX_FRAME_BYTES, write_frame};
use tallybook_tools::{ToolSpec, builtin};

use super::{
    anthropic,
    event::{ModelEvent, StopReason},
    limits::{MAX_ANSWER_BYTES, MAX_BLOCKS, MAX_HELD_BYTES},
    openai,
    prompted::parser::{Parser, Piece},
    reader::StreamReader,
    request::ToolCallRequest,
    testing,
};
use crate::openai::reasoning_tags::UnopenedReasoning;

/// Maximum number of output bytes per input byte. An invalid byte becomes a replacement character, and a frame of six
/// bytes repeats an ID of 256 bytes.
const MAX_GROWTH: usize = 64;

/// Asserts that any split of an event stream gives the same frames, that their size is limited, and that they survive
/// writing and reading.
///
/// # Panics
/// If an assertion fails.
pub fn event_stream(bytes: &[u8]) {
    let whole = frames(&[bytes]);
    for portions in splits(bytes) {
        assert_eq!(frames(&portions), whole, "split as {:?}", lengths(&portions));
    }
    let size: usize = whole.0.iter().map(frame_bytes).sum();
    assert!(size <= MAX_GROWTH * bytes.len(), "{size} bytes were made of {}", bytes.len());
    for frame in whole.0 {
        let written = write_frame(frame.id.as_deref(), &frame.event, &frame.data);
        if written.len() <= MAX_FRAME_BYTES {
            assert_eq!(frames(&[written.as_bytes()]), (vec![frame], false));
        }
    }
}

/// Asserts that any split of an answer in Anthropic's format gives the same events, and that they fulfill the
/// guarantees of [`ModelEvent`].
///
/// # Panics
/// If an assertion fails.
pub fn anthropic_stream(bytes: &[u8]) {
    answer(|| anthropic::stream::Reader::new("m"), bytes);
}

/// Asserts that any split of an answer in the Chat Completions format gives the same events, and that they fulfill the
/// guarantees of [`ModelEvent`].
///
/// # Panics
/// If an assertion fails.
pub fn openai_stream(bytes: &[u8]) {
    for begins_with_reasoning in [false, true] {
        // Each reader gets a habit of its own, because each answer may change it.
        let habit = || UnopenedReasoning::new(begins_with_reasoning);
        answer(|| openai::stream::Reader::new("m", habit()), bytes);
    }
}

/// Asserts that any split of an answer's text gives the same text and tool calls. Also asserts that the user sees no
/// block of a call, and that the parser holds back only a limited amount of text.
///
/// # Panics
/// If an assertion fails.
pub fn prompted_text(bytes: &[u8]) {
    let answer = String::from_utf8_lossy(bytes);
    for cut_off in [false, true] {
        let whole = read_text(&[&answer], cut_off);
        for portions in splits(answer.as_bytes()) {
            assert_eq!(read_text(&at_characters(&answer, &portions), cut_off), whole, "cut off: {cut_off}");
        }
        let (shown, calls) = whole;
        assert!(answer.starts_with(&shown), "what is shown is not the answer's beginning: {shown:?}");
        assert!(shown == *answer || !calls.is_empty(), "the reader misses what follows {shown:?}");
        assert!(calls.len() <= MAX_BLOCKS, "{} calls", calls.len());
        assert!(calls.iter().all(|(name, input)| !name.is_empty() && !input.is_empty()), "{calls:?}");
        let seen_again = read_text(&[&shown], cut_off);
        assert_eq!(seen_again, (shown, vec![]), "a call's block is shown");
    }
}

/// Returns the frames, and `true` if a frame was too large.
fn frames(portions: &[&[u8]]) -> (Vec<Frame>, bool) {
    let mut decoder = Decoder::new();
    let mut frames = Vec::new();
    for portion in portions {
        match decoder.push(portion) {
            Ok(more) => frames.extend(more),
            Err(error) => {
                frames.extend(error.before);
                return (frames, true);
            }
        }
    }
    (frames, false)
}

fn frame_bytes(frame: &Frame) -> usize {
    frame.id.as_ref().map_or(0, String::len) + frame.event.len() + frame.data.len()
}

fn answer<R: StreamReader>(reader: impl Fn() -> R, bytes: &[u8]) {
    let read = |portions: &[&[u8]]| {
        let (mut events, error) = testing::read(reader(), portions);
        events.iter_mut().for_each(forget_minted_id);
        (events, error)
    };
    let whole = read(&[bytes]);
    for portions in splits(bytes) {
        assert_eq!(read(&portions), whole, "split as {:?}", lengths(&portions));
    }
    // In `events`, generated IDs are all equal. The check for unique IDs therefore reads the answer again.
    let (events, error) = whole;
    assert_promises(&events, error.as_deref());
    let (events, _) = testing::read(reader(), &[bytes]);
    let ids: Vec<&str> = calls(&events).map(|call| call.id.as_str()).collect();
    assert!(ids.iter().all(|id| !id.is_empty()), "{ids:?}");
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len(), "an id is there twice: {ids:?}");
}

/// Asserts the guarantees of [`ModelEvent`] and [`super::ModelClient::stream`] for a complete answer.
fn assert_promises(events: &[ModelEvent], error: Option<&str>) {
    let ends = events.iter().filter(|event| matches!(event, ModelEvent::Ended { .. })).count();
    let Some(ModelEvent::Ended { stop_reason, usage }) = events.last() else {
        assert!(error.is_some() && ends == 0, "neither an end nor an error: {events:?}");
        assert_eq!(calls(events).count(), 0, "a call of an answer that has no end");
        return assert_bounded(events);
    };
    assert_eq!((ends, error), (1, None));
    assert!(usage.input_tokens >= 0 && usage.output_tokens >= 0 && usage.cached_tokens >= 0, "{usage:?}");
    assert!(stop_reason.as_str().chars().count() <= 64, "{stop_reason:?}");
    assert!(calls(events).count() <= MAX_BLOCKS);
    for call in calls(events) {
        assert!(!call.input_text.trim().is_empty(), "{call:?}");
        let is_whole = serde_json::from_str::<&RawValue>(&call.input_text).is_ok();
        assert!(is_whole || *stop_reason != StopReason::MaxTokens, "half a call: {call:?}");
    }
    assert_bounded(events);
}

fn assert_bounded(events: &[ModelEvent]) {
    let sizes = events.iter().map(|event| match event {
        ModelEvent::TextDelta(text) | ModelEvent::ReasoningDelta(text) | ModelEvent::TextWasReasoning(text) => {
            assert!(!text.is_empty(), "an empty delta");
            text.len()
        }
        ModelEvent::ToolCall(call) => call.id.len() + call.name.len() + call.input_text.len(),
        ModelEvent::Opaque(json) => {
            assert!(serde_json::from_str::<&RawValue>(json).is_ok(), "{json}");
            // When the block is encoded as JSON again, a control character takes six bytes.
            json.len() / 6
        }
        ModelEvent::Attempt(_)
        | ModelEvent::RetryIn(_)
        | ModelEvent::ToolCallProgress { .. }
        | ModelEvent::Ended { .. } => 0,
    });
    let size: usize = sizes.sum();
    // Generated IDs and the fields around blocks add to the size.
    assert!(size <= MAX_ANSWER_BYTES + 64 * MAX_BLOCKS, "{size} bytes");
}

fn calls(events: &[ModelEvent]) -> impl Iterator<Item = &ToolCallRequest> {
    events.iter().filter_map(|event| match event {
        ModelEvent::ToolCall(call) => Some(call),
        _ => None,
    })
}

/// Replaces a generated ID, which is random, with a constant.
fn forget_minted_id(event: &mut ModelEvent) {
    let ModelEvent::ToolCall(call) = event else { return };
    let random = call.id.strip_prefix("call_").unwrap_or_default();
    if random.len() == 32 && random.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        "minted".clone_into(&mut call.id);
    }
}

/// Returns the text that the user sees, and the name and arguments of each call.
fn read_text(portions: &[&str], cut_off: bool) -> (String, Vec<(String, String)>) {
    static TOOLS: LazyLock<Arc<[ToolSpec]>> =
        LazyLock::new(|| builtin().map(|tools| tools.specs()).unwrap_or_default());
    let mut parser = Parser::new(TOOLS.clone());
    let (mut text, mut calls, mut written) = (String::new(), Vec::new(), 0);
    let mut take = |pieces: Vec<Piece>, held_at_most: usize, written: usize| {
        for piece in pieces {
            match piece {
                Piece::Text(more) => {
                    assert!(!more.is_empty() && calls.is_empty(), "{more:?} after {calls:?}");
                    text.push_str(&more);
                }
                Piece::Call(call) => calls.push((call.name, call.input_text)),
            }
        }
        // After a call, text is dropped, not held back.
        assert!(!calls.is_empty() || written - text.len() <= held_at_most, "{} bytes held", written - text.len());
    };
    for portion in portions {
        written += portion.len();
        // A fence and its line add to the size limit of a block.
        take(parser.push(portion), MAX_HELD_BYTES + 128, written);
    }
    take(parser.end(cut_off), 0, written);
    (text, calls)
}

/// Returns two splits: single bytes, and portions of sizes that are derived from the bytes.
fn splits(bytes: &[u8]) -> [Vec<&[u8]>; 2] {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let mut random = hasher.finish() | 1;
    let mut uneven = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        // Xorshift. Any sequence would do if it is the same for the same bytes.
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let size = usize::from(random.to_be_bytes()[0]) % 48;
        let (portion, tail) = rest.split_at(size.min(rest.len()));
        uneven.push(portion);
        rest = tail;
    }
    [bytes.chunks(1).collect(), uneven]
}

fn lengths(portions: &[&[u8]]) -> Vec<usize> {
    portions.iter().map(|portion| portion.len()).collect()
}

/// Moves the ends of the portions to character boundaries of the text.
fn at_characters<'a>(text: &'a str, portions: &[&[u8]]) -> Vec<&'a str> {
    let (mut start, mut end) = (0, 0);
    let cut = portions.iter().map(|portion| {
        end += portion.len();
        let at = text.floor_char_boundary(end);
        &text[std::mem::replace(&mut start, at)..at]
    });
    cut.collect()
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::{anthropic_stream, event_stream, openai_stream, prompted_text};

    /// Interval in bytes at which the seeds are truncated. Truncating them at every byte would take seconds.
    const CUT_OFF_EVERY: usize = 11;

    /// Checks every seed of a target, complete and truncated.
    fn check(target: &str, property: fn(&[u8])) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
        let mut seeds = 0;
        for file in fs::read_dir(&folder).unwrap() {
            let bytes = fs::read(file.unwrap().path()).unwrap();
            for end in (0..bytes.len()).step_by(CUT_OFF_EVERY).chain([bytes.len()]) {
                property(&bytes[..end]);
            }
            seeds += 1;
        }
        assert!(seeds >= 8, "{} has only {seeds} seeds", folder.display());
    }

    #[test]
    fn seeds_satisfy_the_invariants_of_event_streams() {
        check("event_stream", event_stream);
    }

    #[test]
    fn seeds_satisfy_the_invariants_of_anthropic_answers() {
        check("anthropic_stream", anthropic_stream);
    }

    #[test]
    fn seeds_satisfy_the_invariants_of_chat_completions() {
        check("openai_stream", openai_stream);
    }

    #[test]
    fn seeds_satisfy_the_invariants_of_calls_in_text() {
        check("prompted_text", prompted_text);
    }
}
