//! Server-sent events in the framing of the WHATWG HTML standard (section 9.2): a writer for one frame, and a decoder
//! that accepts bytes in chunks of any size. The browser uses it for Tallybook's streams, and the server for its
//! providers' streams.

use std::fmt::Write as _;

/// Maximum size of a frame that the decoder accepts, in bytes. A complete answer is sent in one frame, so the limit is
/// generous. It bounds the memory that a hostile or broken sender can make a reader use.
pub const MAX_FRAME_BYTES: usize = if cfg!(fuzzing) { 512 } else { 16 * 1024 * 1024 };

/// Maximum length of an `id:`, in bytes; longer ones are ignored. Each later frame repeats the ID, so a long one would
/// be stored many times.
pub const MAX_ID_BYTES: usize = 256;

/// Response header of an event stream with its keep-alive interval in whole seconds, at least 1.
pub const KEEP_ALIVE_HEADER: &str = "tallybook-keep-alive";

/// One dispatched event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Frame {
    /// Last `id:` that the sender has set, if any.
    pub id: Option<String>,
    /// The `event:` of this frame, or `message` if it has none.
    pub event: String,
    /// The `data:` lines, joined with line feeds.
    pub data: String,
}

/// Error for a frame larger than [`MAX_FRAME_BYTES`]. The rest of the stream cannot be decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameTooLarge {
    /// Frames that the same chunk completed before that frame.
    pub before: Vec<Frame>,
}

impl std::fmt::Display for FrameTooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "a server-sent event is larger than {MAX_FRAME_BYTES} bytes")
    }
}

impl std::error::Error for FrameTooLarge {}

/// Writes one frame. `data` may contain several lines. Readers treat a lone carriage return as a line end, too, so each
/// line end in `data` reaches the reader as a line feed. `id` and `event` must each be one line.
pub fn write_frame(id: Option<&str>, event: &str, data: &str) -> String {
    let mut frame = String::with_capacity(data.len() + event.len() + 64);
    if let Some(id) = id {
        let _ = writeln!(frame, "id: {id}");
    }
    let _ = writeln!(frame, "event: {event}");
    for line in data.split(['\n', '\r']) {
        let _ = writeln!(frame, "data: {line}");
    }
    frame.push('\n');
    frame
}

/// Decodes bytes into frames, in chunks of any size.
#[derive(Debug, Default)]
pub struct Decoder {
    line: Vec<u8>,
    after_carriage_return: bool,
    any_line: bool,
    last_id: Option<String>,
    event: String,
    data: String,
    has_data: bool,
}

impl Decoder {
    /// Creates a decoder at the start of a stream.
    pub fn new() -> Self {
        Self::default()
    }

    /// Decodes the next chunk and returns the frames that it completes. An incomplete frame at the end of a stream is
    /// dropped, as the standard requires, unless [`Decoder::end`] is called.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Frame>, FrameTooLarge> {
        let mut frames = Vec::new();
        let mut rest = bytes;
        while let Some((&first, tail)) = rest.split_first() {
            if std::mem::take(&mut self.after_carriage_return) && first == b'\n' {
                rest = tail;
                continue;
            }
            let taken = rest.iter().position(|b| matches!(b, b'\n' | b'\r')).unwrap_or(rest.len());
            if self.line.len() + self.data.len() + taken > MAX_FRAME_BYTES {
                return Err(FrameTooLarge { before: frames });
            }
            let (portion, after) = rest.split_at(taken);
            let Some((&line_end, after)) = after.split_first() else {
                self.line.extend_from_slice(portion);
                break;
            };
            self.after_carriage_return = line_end == b'\r';
            rest = after;
            // Most lines arrive complete and are read without a copy.
            let frame = if self.line.is_empty() {
                self.end_line(portion)
            } else {
                self.line.extend_from_slice(portion);
                let line = std::mem::take(&mut self.line);
                self.end_line(&line)
            };
            frames.extend(frame);
        }
        Ok(frames)
    }

    /// Returns the unfinished frame at the end of a stream, if any. Some servers omit the empty line after their last
    /// frame. The frame may also be incomplete.
    pub fn end(&mut self) -> Option<Frame> {
        let line = std::mem::take(&mut self.line);
        let before = if line.is_empty() { None } else { self.end_line(&line) };
        before.or_else(|| self.dispatch())
    }

    fn end_line(&mut self, line: &[u8]) -> Option<Frame> {
        // The standard decodes with replacement, and strips one byte order mark at the very start.
        let text = String::from_utf8_lossy(line);
        let mut text = text.as_ref();
        if !std::mem::replace(&mut self.any_line, true) {
            text = text.strip_prefix('\u{feff}').unwrap_or(text);
        }
        if text.is_empty() {
            return self.dispatch();
        }
        let (field, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event),
            "id" if !value.contains('\0') && value.len() <= MAX_ID_BYTES => self.last_id = Some(value.to_owned()),
            "data" => {
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            // Comments have an empty field name. `retry` and unknown fields are ignored.
            _ => {}
        }
        None
    }

    fn dispatch(&mut self) -> Option<Frame> {
        let event = std::mem::take(&mut self.event);
        let data = std::mem::take(&mut self.data);
        if !std::mem::take(&mut self.has_data) {
            return None;
        }
        let event = if event.is_empty() { "message".to_owned() } else { event };
        Some(Frame { id: self.last_id.clone(), event, data })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Decoder, Frame, FrameTooLarge, MAX_FRAME_BYTES, MAX_ID_BYTES, write_frame};

    fn frame(id: Option<&str>, event: &str, data: &str) -> Frame {
        Frame { id: id.map(str::to_owned), event: event.to_owned(), data: data.to_owned() }
    }

    fn decode(bytes: &[u8]) -> Vec<Frame> {
        Decoder::new().push(bytes).unwrap()
    }

    #[test]
    fn a_lone_carriage_return_in_the_data_does_not_tear_the_frame_apart() {
        let frame = write_frame(Some("7.1.0"), "tool_call_start", "{\"input\":{\r\"a\": 1\r\n}}");
        let frames = Decoder::new().push(frame.as_bytes()).unwrap();
        let [read] = &frames[..] else { panic!("{} frames", frames.len()) };
        assert_eq!(read.data, "{\"input\":{\n\"a\": 1\n\n}}");
    }

    #[test]
    fn fields_and_comments_are_decoded() {
        let text = ": hello\nevent: a\nid: 7\ndata: one\ndata:two\nretry: 5\nnonsense\n\ndata\n\nevent: lost\n\n";
        assert_eq!(decode(text.as_bytes()), [frame(Some("7"), "a", "one\ntwo"), frame(Some("7"), "message", "")]);
    }

    #[test]
    fn every_line_ending_and_a_byte_order_mark() {
        let expected = [frame(None, "message", "x"), frame(None, "message", "y")];
        for text in ["\u{feff}data:x\n\ndata:y\n\n", "data:x\r\n\r\ndata:y\r\n\r\n", "data:x\r\rdata:y\r\r"] {
            assert_eq!(decode(text.as_bytes()), expected, "{text:?}");
        }
    }

    #[test]
    fn the_last_frame_may_lack_its_empty_line() {
        for text in ["event: a\ndata: x", "event: a\ndata: x\n", "event: a\r\ndata: x\r"] {
            let mut decoder = Decoder::new();
            assert_eq!(decoder.push(text.as_bytes()), Ok(vec![]));
            assert_eq!(decoder.end(), Some(frame(None, "a", "x")), "{text:?}");
            assert_eq!(decoder.end(), None);
        }
        assert_eq!(Decoder::new().end(), None);
    }

    #[test]
    fn an_endless_line_is_refused() {
        let mut decoder = Decoder::new();
        let portion = vec![b'x'; MAX_FRAME_BYTES];
        assert_eq!(decoder.push(&portion), Ok(vec![]));
        assert_eq!(decoder.push(b"x"), Err(FrameTooLarge { before: vec![] }));
    }

    #[test]
    fn frames_before_an_endless_line_are_returned() {
        let portion = [b"data: whole\n\ndata: ".to_vec(), vec![b'x'; MAX_FRAME_BYTES]].concat();
        assert_eq!(Decoder::new().push(&portion), Err(FrameTooLarge { before: vec![frame(None, "message", "whole")] }));
    }

    #[test]
    fn a_long_id_is_not_kept() {
        let long = "7".repeat(MAX_ID_BYTES + 1);
        let text = format!("id: 6\nid: {long}\ndata: x\n\n");
        assert_eq!(decode(text.as_bytes()), [frame(Some("6"), "message", "x")]);
    }

    proptest! {
        #[test]
        fn a_written_frame_is_read_back(data in "[^\r]{0,80}", id in "[a-z0-9.]{1,9}") {
            let text = write_frame(Some(&id), "content_delta", &data);
            prop_assert_eq!(decode(text.as_bytes()), [frame(Some(&id), "content_delta", &data)]);
        }

        #[test]
        fn any_split_gives_the_same_frames(
            text in "(data: [あa🙂 ]{0,5}(\r\n|\n|\r)|: c\n|event: e\n|id: 1\r\n|\n|\r\n){0,30}",
            cut in proptest::collection::vec(0usize..400, 0..12),
        ) {
            let bytes = text.as_bytes();
            let mut cuts: Vec<usize> = cut.into_iter().map(|c| c.min(bytes.len())).collect();
            cuts.sort_unstable();
            cuts.push(bytes.len());
            let mut decoder = Decoder::new();
            let mut frames = Vec::new();
            let mut start = 0;
            for end in cuts {
                frames.extend(decoder.push(&bytes[start..end]).unwrap());
                start = end;
            }
            prop_assert_eq!(frames, decode(bytes));
        }
    }
}
