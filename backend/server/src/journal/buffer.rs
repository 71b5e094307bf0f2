//! What a turn's log holds: its latest events, and the message as far as it is.

use std::collections::VecDeque;

use tallybook_protocol::ChatEvent;

use super::{
    entry::{LogEntry, WeakLogEntry, event_bytes},
    limits::{MAX_BUFFERED_BYTES, MAX_STORED_TEXT_BYTES},
    progress::Progress,
};

/// A stretch of the answer's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextPiece {
    /// How many bytes of the answer come before it.
    pub offset: usize,
    /// The text.
    pub text: String,
    /// The number of the last event that it holds.
    pub seq: i64,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// Entries with neighbouring numbers; the last one's is `next_seq - 1`.
    pub(super) entries: VecDeque<LogEntry>,
    buffered_bytes: usize,
    pub(super) next_seq: i64,
    /// Whether the last entry is the turn's last event, which every reader gets, however far behind it is.
    pub(super) has_terminal: bool,
    pub(super) ended: bool,
    pub(super) progress: Progress,
    /// Where the text deltas end that may not be stored yet, in bytes of the answer, and their numbers.
    pub(super) delta_ends: VecDeque<(usize, i64)>,
    /// The snapshot that was last made and the number that was next then, for as long as some reader holds it.
    pub(super) snapshot: (i64, WeakLogEntry),
}

impl State {
    pub(super) fn push(&mut self, entry: LogEntry) {
        if self.ended {
            return;
        }
        self.buffered_bytes += event_bytes(entry.event());
        self.entries.push_back(entry);
        self.next_seq += 1;
        while self.buffered_bytes > MAX_BUFFERED_BYTES && self.entries.len() > 1 {
            self.buffered_bytes -= self.entries.pop_front().map_or(0, |entry| event_bytes(entry.event()));
        }
    }

    /// Whether the last entry is an end that tells the whole message, so that whoever hears it needs nothing before it.
    pub(super) fn ends_whole(&self) -> bool {
        matches!(self.entries.back().map(LogEntry::event), Some(ChatEvent::MessageEnd(_)))
    }

    pub(super) fn pieces_from(&mut self, offset: usize) -> Vec<TextPiece> {
        while self.delta_ends.front().is_some_and(|(end, _)| *end <= offset) {
            self.delta_ends.pop_front();
        }
        let mut pieces: Vec<TextPiece> = Vec::new();
        let mut start = offset;
        for &(end, seq) in &self.delta_ends {
            let Some(text) = self.progress.content.get(start..end) else { break };
            match pieces.last_mut() {
                Some(last) if last.text.len() + text.len() <= MAX_STORED_TEXT_BYTES => {
                    last.text.push_str(text);
                    last.seq = seq;
                }
                _ => pieces.push(TextPiece { offset: start, text: text.to_owned(), seq }),
            }
            start = end;
        }
        pieces
    }

    pub(super) fn first_seq(&self) -> i64 {
        self.next_seq - i64::try_from(self.entries.len()).unwrap_or(0)
    }
}
