//! What the stream readers of all providers share: the way from bytes to events, and how parts of it are read. Pure: no
//! I/O, no time.

use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use tallybook_protocol::sse;

use super::{error::ModelError, event::ModelEvent, surrogates::Surrogates};

/// The end mark of Chat Completions.
pub(super) const DONE: &str = "[DONE]";

/// Reads one provider's stream frame by frame.
pub(super) trait StreamReader: Send {
    /// Takes the next frame and gives what it means.
    fn on_frame(&mut self, frame: &sse::Frame) -> Result<Vec<ModelEvent>, ModelError>;

    /// Returns `true` if the provider has said why the answer ended. Only its end mark, or usage, may still follow.
    fn has_stop_reason(&self) -> bool;

    /// No more frames come. Returns the rest of the answer, or `None` if it was not finished.
    fn on_end(&mut self, end: BodyEnd) -> Option<Vec<ModelEvent>>;
}

/// The way in which the body of an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyEnd {
    /// As HTTP ends a body.
    Clean,
    /// The connection was lost, or nothing came for too long.
    Lost,
}

/// Turns bytes in any portions into events. After an error, and after [`ModelEvent::Ended`], it is done.
pub(super) struct Parser<R> {
    decoder: sse::Decoder,
    surrogates: Surrogates,
    reader: R,
}

/// What a portion of the body means.
#[derive(Debug)]
pub(super) struct Portion {
    pub(super) events: Vec<ModelEvent>,
    /// Comes after the events.
    pub(super) error: Option<ModelError>,
    /// The answer has ended, with [`ModelEvent::Ended`].
    pub(super) is_over: bool,
}

impl<R: StreamReader> Parser<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { decoder: sse::Decoder::new(), surrogates: Surrogates::default(), reader }
    }

    /// The events that these bytes complete, up to and with an error if there is one.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Portion {
        let (frames, error) = match self.decoder.push(bytes) {
            Ok(frames) => (frames, None),
            Err(error) => {
                let words = error.to_string();
                (error.before, Some(bad_stream(words)))
            }
        };
        let frames = frames.into_iter().flat_map(|frame| self.surrogates.push(frame));
        let mut portion = Portion::read(frames, &mut self.reader);
        if !portion.is_over && portion.error.is_none() {
            portion.error = error;
        }
        portion
    }

    /// Reads an answer that is one JSON object and no stream.
    pub(super) fn whole(&mut self, body: &str) -> Portion {
        let data = body.trim_start_matches('\u{feff}').trim().to_owned();
        if !is_json(&data) {
            return Portion::read([], &mut self.reader);
        }
        let frame = sse::Frame { id: None, event: "message".to_owned(), data };
        let mut frames: Vec<sse::Frame> = self.surrogates.push(frame).collect();
        frames.extend(self.surrogates.end());
        self.finish(frames, BodyEnd::Clean)
    }

    /// Returns `true` if the provider has said why the answer ended.
    pub(super) fn has_stop_reason(&self) -> bool {
        self.reader.has_stop_reason()
    }

    /// The body has ended. Returns the rest of the answer, which is not over if the answer was not finished.
    pub(super) fn end(&mut self, how: BodyEnd) -> Portion {
        // Some servers leave out the empty line after their last frame. Half a frame is nothing.
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

/// Returns `true` if no part of the frame's data is missing.
fn is_whole(frame: &sse::Frame) -> bool {
    let data = frame.data.trim();
    data == DONE || is_json(data)
}

/// Returns `true` if this is a whole JSON object or list.
fn is_json(data: &str) -> bool {
    data.starts_with(['{', '[']) && serde_json::from_str::<&RawValue>(data).is_ok()
}

/// Reads a number of tokens, which may be in a string; `None` if it is missing or makes no sense.
pub(super) fn tokens(count: &Value) -> Option<i64> {
    count.as_i64().or_else(|| count.as_str()?.trim().parse().ok()).filter(|count| *count >= 0)
}

/// Reads a part of the stream as JSON. Halves of characters are mended before it comes here.
pub(super) fn parse<'a, T: Deserialize<'a>>(json: &'a str) -> Result<T, ModelError> {
    serde_json::from_str(json).map_err(|error| bad_stream(format!("a part of it cannot be read ({error})")))
}

/// The stream makes no sense in this way.
pub(super) fn bad_stream(detail: impl Into<String>) -> ModelError {
    ModelError::BadStream { detail: detail.into() }
}
