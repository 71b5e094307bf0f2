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
    /// Entries under their numbers, which grow; the last one's is `next_seq - 1`. A stored copy leaves some out, since text
    /// is stored joined.
    entries: VecDeque<(i64, LogEntry)>,
    buffered_bytes: usize,
    /// The number from which on nothing is missing here.
    first_seq: i64,
    pub(super) next_seq: i64,
    /// Whether the last entry is the turn's last event, which every reader gets, however far behind it is.
    pub(super) has_terminal: bool,
    pub(super) ended: bool,
    pub(super) progress: Progress,
    /// Whether all that is known of the turn is its end.
    pub(super) is_end_alone: bool,
    /// Where the text deltas end that may not be stored yet, in bytes of the answer, and their numbers.
    pub(super) delta_ends: VecDeque<(usize, i64)>,
    /// The snapshot that was last made and the number that was next then, for as long as some reader holds it.
    pub(super) snapshot: (i64, WeakLogEntry),
}

impl State {
    /// What is known of a turn whose last event is about to be pushed under the number `seq`.
    pub(super) fn before_end(seq: i64, progress: Progress) -> Self {
        Self { first_seq: seq, next_seq: seq, progress, is_end_alone: true, ..Self::default() }
    }

    pub(super) fn push(&mut self, seq: i64, entry: LogEntry) {
        if self.ended {
            return;
        }
        self.buffered_bytes += event_bytes(entry.event());
        self.has_terminal |= entry.event().is_terminal();
        self.entries.push_back((seq, entry));
        self.next_seq = seq + 1;
        while self.buffered_bytes > MAX_BUFFERED_BYTES && self.entries.len() > 1 {
            let Some((seq, dropped)) = self.entries.pop_front() else { break };
            self.buffered_bytes -= event_bytes(dropped.event());
            self.first_seq = seq + 1;
        }
    }

    /// At most `limit` entries from a number on; `None` where some of them are not here any more.
    pub(super) fn entries_from(&self, seq: i64, limit: usize) -> Option<Vec<(i64, LogEntry)>> {
        if seq < self.first_seq {
            return None;
        }
        let skipped = self.entries.partition_point(|(held, _)| *held < seq);
        Some(self.entries.iter().skip(skipped).take(limit).cloned().collect())
    }

    /// The snapshot that was last made, where some reader still holds it and the buffer has what comes after it.
    pub(super) fn held_snapshot(&self) -> Option<(i64, LogEntry)> {
        let (next_seq, made) = &self.snapshot;
        made.upgrade().filter(|_| *next_seq >= self.first_seq).map(|made| (*next_seq, made))
    }

    /// Whether the last entry is an end that tells the whole message, so that whoever hears it needs nothing before it.
    pub(super) fn ends_whole(&self) -> bool {
        matches!(self.entries.back().map(|(_, entry)| entry.event()), Some(ChatEvent::MessageEnd(_)))
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
}
