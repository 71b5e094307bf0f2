//! Shared code of all stream readers: converts bytes to events, parses parts of the stream, and limits the size of the
//! answer. Does no I/O and uses no clock.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tallybook_protocol::{json_bytes, sse};

use super::{error::ModelError, event::ModelEvent, limits::MAX_ANSWER_BYTES, surrogates::Surrogates};

/// The end mark of Chat Completions.
pub(crate) const DONE: &str = "[DONE]";

/// A reader of one provider's stream, frame by frame.
pub(crate) trait StreamReader: Send {
    /// Takes the next frame and returns its events.
    fn on_frame(&mut self, frame: &sse::Frame) -> Result<Vec<ModelEvent>, ModelError>;

    /// Returns `true` if the provider has sent a stop reason. After it, only the end mark or usage may follow.
    fn has_stop_reason(&self) -> bool;

    /// Ends the stream. Returns the rest of the answer, or `None` if the answer is incomplete.
    fn on_end(&mut self, end: BodyEnd) -> Option<Vec<ModelEvent>>;
}

/// The end of an answer's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BodyEnd {
    /// The body ended as HTTP requires.
    Clean,
    /// The connection was lost, or the timeout elapsed.
    Lost,
}

/// A parser that converts bytes to events. How the bytes are split has no effect. Do not use it after an error or after
/// [`ModelEvent::Ended`].
pub(crate) struct Parser<R> {
    decoder: sse::Decoder,
    surrogates: Surrogates,
    reader: R,
}

/// The events of a portion of the body.
#[derive(Debug)]
pub(crate) struct Portion {
    pub(crate) events: Vec<ModelEvent>,
    /// An error that occurred after the events.
    pub(crate) error: Option<ModelError>,
    /// `true` if the answer has ended with [`ModelEvent::Ended`].
    pub(crate) is_over: bool,
}

impl<R: StreamReader> Parser<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { decoder: sse::Decoder::new(), surrogates: Surrogates::default(), reader }
    }

    /// Returns the events that these bytes complete, up to the first error.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Portion {
        let (frames, error) = match self.decoder.push(bytes) {
            Ok(frames) => (frames, None),
            Err(error) => {
                let text = error.to_string();
                (error.before, Some(bad_stream(text)))
            }
        };
        let frames = frames.into_iter().flat_map(|frame| self.surrogates.push(frame));
        let mut portion = Portion::read(frames, &mut self.reader);
        if !portion.is_over && portion.error.is_none() {
            portion.error = error;
        }
        portion
    }

    /// Reads an answer that is one JSON object instead of a stream.
    pub(crate) fn whole(&mut self, body: &str) -> Portion {
        let data = body.trim_start_matches('\u{feff}').trim().to_owned();
        if !is_json(&data) {
            return Portion::read([], &mut self.reader);
        }
        let frame = sse::Frame { id: None, event: "message".to_owned(), data };
        let mut frames: Vec<sse::Frame> = self.surrogates.push(frame).collect();
        frames.extend(self.surrogates.end());
        self.finish(frames, BodyEnd::Clean)
    }

    /// Returns `true` if the provider has sent a stop reason.
    pub(crate) fn has_stop_reason(&self) -> bool {
        self.reader.has_stop_reason()
    }

    /// Ends the body. Returns the rest of the answer; `is_over` is `false` if the answer is incomplete.
    pub(crate) fn end(&mut self, how: BodyEnd) -> Portion {
        // Some servers omit the empty line after their last frame. An incomplete frame is dropped.
        let last = self.decoder.end().filter(is_whole).into_iter().flat_map(|frame| self.surrogates.push(frame));
        let mut frames: Vec<sse::Frame> = last.collect();
        frames.extend(self.surrogates.end());
        self.finish(frames, how)
    }

    /// Reads the last frames.
    fn finish(&mut self, frames: impl IntoIterator<Item = sse::Frame>, how: BodyEnd) -> Portion {
        let mut portion = Portion::read(frames, &mut self.reader);
        if !portion.is_over
            && portion.error.is_none()
            && let Some(end) = self.reader.on_end(how)
        {
            portion.events.extend(end);
            portion.is_over = true;
        }
        portion
    }
}

impl Portion {
    fn read(frames: impl IntoIterator<Item = sse::Frame>, reader: &mut impl StreamReader) -> Self {
        let mut portion = Self { events: Vec::new(), error: None, is_over: false };
        for frame in frames {
            match reader.on_frame(&frame) {
                Ok(more) => portion.events.extend(more),
                Err(error) => {
                    portion.error = Some(error);
                    break;
                }
            }
            if matches!(portion.events.last(), Some(ModelEvent::Ended { .. })) {
                portion.is_over = true;
                break;
            }
        }
        portion
    }
}

/// Returns `true` if the frame's data is complete.
fn is_whole(frame: &sse::Frame) -> bool {
    let data = frame.data.trim();
    data == DONE || is_json(data)
}

/// Returns `true` if the data is a complete JSON object or list.
fn is_json(data: &str) -> bool {
    data.starts_with(['{', '[']) && serde_json::from_str::<&RawValue>(data).is_ok()
}

/// Reads a number of tokens, which may be in a string. Returns `None` if it is missing, negative or not a number.
pub(crate) fn tokens(count: &Value) -> Option<i64> {
    count.as_i64().or_else(|| count.as_str()?.trim().parse().ok()).filter(|count| *count >= 0)
}

/// Parses a part of the stream as JSON. Lone surrogates are repaired before this is called.
pub(crate) fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, ModelError> {
    serde_json::from_str(json).map_err(|error| bad_stream(format!("a part of it cannot be parsed ({error})")))
}

/// Creates the error for a malformed or aborted stream.
pub(crate) fn bad_stream(detail: impl Into<String>) -> ModelError {
    ModelError::BadStream { detail: detail.into() }
}

/// Number of bytes that one answer may still take, out of `MAX_ANSWER_BYTES`.
#[derive(Debug)]
pub(crate) struct AnswerBudget(usize);

impl Default for AnswerBudget {
    fn default() -> Self {
        Self(MAX_ANSWER_BYTES)
    }
}

impl AnswerBudget {
    /// Deducts the size of `text`. Returns an error if the text does not fit.
    pub(crate) fn take(&mut self, text: &str) -> Result<(), ModelError> {
        self.take_bytes(json_bytes(text))
    }

    /// Deducts the size of a text that becomes part of a JSON block. Such a block is stored as a string within JSON, so
    /// its size counts twice.
    pub(crate) fn take_nested(&mut self, text: &str) -> Result<(), ModelError> {
        self.take_bytes(json_bytes(text).saturating_mul(2))
    }

    fn take_bytes(&mut self, bytes: usize) -> Result<(), ModelError> {
        let left = self.0.checked_sub(bytes);
        self.0 = left.ok_or_else(|| bad_stream(format!("it is longer than {MAX_ANSWER_BYTES} bytes")))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{AnswerBudget, MAX_ANSWER_BYTES};

    #[test]
    fn an_endless_answer_is_refused() {
        let mut budget = AnswerBudget::default();
        assert!(budget.take(&"x".repeat(MAX_ANSWER_BYTES)).is_ok());
        assert!(budget.take("x").is_err());
        // A control character takes six bytes in the stored JSON.
        assert!(AnswerBudget::default().take(&"\u{1}".repeat(MAX_ANSWER_BYTES / 6)).is_ok());
        assert!(AnswerBudget::default().take(&"\u{1}".repeat(MAX_ANSWER_BYTES / 6 + 1)).is_err());
        assert!(AnswerBudget::default().take_nested(&"x".repeat(MAX_ANSWER_BYTES / 2 + 1)).is_err());
    }
}
