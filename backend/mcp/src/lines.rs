//! Reads the lines of a program's output, up to a maximum length, and parses each line as a message. If a response
//! cannot be read, finds out which request it answers.

use std::io;

use rmcp::model::{ErrorCode, ErrorData, NumberOrString, RequestId, ServerJsonRpcMessage};
use tokio::io::{AsyncBufRead, AsyncBufReadExt};

use super::{exact, limits::MAX_MESSAGE_BYTES};

/// Number of bytes kept at each end of an unreadable line: enough to find out which request it answers.
const KEPT_BYTES: usize = 256;
const UNREADABLE: &str = "the server's response cannot be parsed";
const TOO_LONG: &str = "the server's response is longer than 2 MiB";

/// Reads lines of bounded length. Waiting for a line can be cancelled and resumed without losing data.
pub(crate) struct Lines<R> {
    reader: R,
    line: Vec<u8>,
    /// Last bytes of a line that is too long; the first bytes are in `line`.
    tail: Option<Vec<u8>>,
}

/// A line without its line feed, or the parts of it that were kept.
#[derive(Debug, PartialEq)]
pub(crate) enum Line {
    Whole(Vec<u8>),
    TooLong { head: Vec<u8>, tail: Vec<u8> },
}

/// Result of parsing a line.
pub(crate) enum Read {
    Message(Box<ServerJsonRpcMessage>),
    /// Not a message, and no request waits for it.
    Nothing,
    /// A response that cannot be matched to its request.
    Lost,
}

impl<R: AsyncBufRead + Unpin> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, line: Vec::new(), tail: None }
    }

    /// Returns the next line without its line feed, or `None` at the end of the output. Drops a last line without line
    /// feed.
    pub(crate) async fn next(&mut self) -> io::Result<Option<Line>> {
        loop {
            let available = self.reader.fill_buf().await?;
            if available.is_empty() {
                return Ok(None);
            }
            let end = available.iter().position(|&byte| byte == b'\n');
            let piece = &available[..end.unwrap_or(available.len())];
            match &mut self.tail {
                Some(tail) => {
                    tail.extend_from_slice(&piece[piece.len().saturating_sub(KEPT_BYTES)..]);
                    tail.drain(..tail.len().saturating_sub(KEPT_BYTES));
                }
                None if self.line.len() + piece.len() > MAX_MESSAGE_BYTES => {
                    self.line.extend_from_slice(piece);
                    self.tail = Some(self.line.split_off(self.line.len() - KEPT_BYTES));
                    self.line.truncate(KEPT_BYTES);
                    self.line.shrink_to_fit();
                }
                None => self.line.extend_from_slice(piece),
            }
            let used = piece.len() + usize::from(end.is_some());
            self.reader.consume(used);
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                return Ok(Some(match self.tail.take() {
                    Some(tail) => Line::TooLong { head: line, tail },
                    None => Line::Whole(line),
                }));
            }
        }
    }
}

impl Line {
    /// Parses the line. A response that cannot be read becomes an error response to the same request.
    pub(crate) fn message(&self) -> Read {
        let (head, tail, reason) = match self {
            Self::Whole(line) => match exact::read(line) {
                Ok(message) => return Read::Message(Box::new(message)),
                // Some servers write log lines to standard output.
                Err(_) => {
                    (&line[..line.len().min(KEPT_BYTES)], &line[line.len().saturating_sub(KEPT_BYTES)..], UNREADABLE)
                }
            },
            Self::TooLong { head, tail } => (&head[..], &tail[..], TOO_LONG),
        };
        match id_of(head, tail) {
            Some(id) => {
                let error = ErrorData::new(ErrorCode::PARSE_ERROR, reason, None);
                Read::Message(Box::new(ServerJsonRpcMessage::error(error, Some(id))))
            }
            None if reason == TOO_LONG => Read::Lost,
            None => Read::Nothing,
        }
    }
}

/// Finds the ID of an unreadable response in its first or last members. Returns `None` if there is none or if it isn't
/// a number. An `"id":` inside a string has escaped quotes, so it never matches.
fn id_of(head: &[u8], tail: &[u8]) -> Option<RequestId> {
    let plain =
        |bytes: &[u8]| String::from_utf8_lossy(bytes).chars().filter(|c| !c.is_whitespace()).collect::<String>();
    let (head, tail) = (plain(head), plain(tail));
    let after = head.strip_prefix(r#"{"jsonrpc":"2.0","#).or_else(|| head.strip_prefix('{')).unwrap_or_default();
    let first = after.strip_prefix(r#""id":"#).and_then(|rest| rest.split_once(',')).map(|(id, _)| id);
    let before = tail.strip_suffix(r#","jsonrpc":"2.0"}"#).or_else(|| tail.strip_suffix('}')).unwrap_or_default();
    let last = before.rsplit_once(r#","id":"#).map(|(_, id)| id);
    first.or(last)?.parse().ok().map(NumberOrString::Number)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines(text: &[u8]) -> Vec<Line> {
        let mut lines = Lines::new(text);
        let mut all = Vec::new();
        while let Some(line) = lines.next().await.unwrap() {
            all.push(line);
        }
        all
    }

    #[tokio::test]
    async fn long_lines_are_skipped_and_the_next_is_read() {
        let long = "x".repeat(2 * MAX_MESSAGE_BYTES);
        let read =
            lines(format!("one\n{{\"id\":7,\"result\":\"{long}\",\"jsonrpc\":\"2.0\"}}\ntwo\nrest").as_bytes()).await;
        assert_eq!(read.len(), 3);
        assert_eq!(read[0], Line::Whole(b"one".to_vec()));
        assert_eq!(read[2], Line::Whole(b"two".to_vec()));
        let Line::TooLong { head, tail } = &read[1] else { panic!("{:?}", read[1]) };
        assert_eq!(id_of(head, tail), Some(NumberOrString::Number(7)));
    }

    #[test]
    fn ids_are_found_at_both_ends_and_nowhere_else() {
        let id = |line: &str| id_of(line.as_bytes(), line.as_bytes());
        assert_eq!(id(r#"{"jsonrpc": "2.0", "id": 3, "result": {}}"#), Some(NumberOrString::Number(3)));
        assert_eq!(id(r#"{"result":{},"jsonrpc":"2.0","id":4}"#), Some(NumberOrString::Number(4)));
        assert_eq!(id(r#"{"result":{},"id":5,"jsonrpc":"2.0"}"#), Some(NumberOrString::Number(5)));
        assert_eq!(id(r#"{"result":"\",\"id\":6}"}"#), None);
        assert_eq!(id("a line of a log"), None);
    }
}
