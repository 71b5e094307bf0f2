//! The state behind a turn's log: a bounded buffer of the latest events, and the message so far.

use std::collections::VecDeque;

use tallybook_protocol::{ChatEvent, ContentDelta, ReasoningDelta};

use crate::journal::{
    entry::{LogEntry, WeakLogEntry, event_bytes},
    limits::{MAX_BUFFERED_BYTES, MAX_STORED_TEXT_BYTES},
    progress::Progress,
};

/// Position up to which a turn's text and reasoning are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Length of the stored text of the answer, in bytes.
    pub text_bytes: usize,
    /// Sequence number of the last stored reasoning event; -1 if there is none.
    pub reasoning_seq: i64,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    /// Entries in the order of their sequence numbers, all below `next_seq`. Numbers can be missing: a stored copy joins text
    /// deltas, and a commit whose answer was lost may have used numbers.
    entries: VecDeque<(i64, LogEntry)>,
    buffered_bytes: usize,
    /// The buffer has every event from this sequence number on.
    first_seq: i64,
    pub(crate) next_seq: i64,
    /// `true` if the last entry is the turn's last event. Every subscriber gets that event, however far behind the
    /// subscriber is.
    pub(crate) has_terminal: bool,
    pub(crate) ended: bool,
    pub(crate) progress: Progress,
    /// `true` if only the end of the turn is known.
    pub(crate) is_end_alone: bool,
    /// For text deltas that may not be stored yet: where each delta ends, in bytes of the answer's text, and its
    /// sequence number.
    delta_ends: VecDeque<(usize, i64)>,
    /// Reasoning that may not be stored yet, with sequence numbers. `last_thought` is the last such number, stored or
    /// not.
    thoughts: VecDeque<(i64, ReasoningDelta)>,
    last_thought: Option<i64>,
    /// The most recent snapshot, and the sequence number that was next when it was made. It lives while a subscriber
    /// holds it.
    pub(crate) snapshot: (i64, WeakLogEntry),
}

impl State {
    /// Creates the state of a turn whose last event is about to be pushed with the sequence number `seq`.
    pub(crate) fn before_end(seq: i64, progress: Progress) -> Self {
        Self { first_seq: seq, next_seq: seq, progress, is_end_alone: true, ..Self::default() }
    }

    pub(crate) fn push(&mut self, seq: i64, entry: LogEntry) {
        self.next_seq = seq + 1;
        if self.ended {
            return;
        }
        self.buffered_bytes += event_bytes(entry.event());
        self.has_terminal |= entry.event().is_terminal();
        self.entries.push_back((seq, entry));
        while self.buffered_bytes > MAX_BUFFERED_BYTES && self.entries.len() > 1 {
            let Some((seq, dropped)) = self.entries.pop_front() else { break };
            self.buffered_bytes -= event_bytes(dropped.event());
            self.first_seq = seq + 1;
        }
    }

    /// Returns at most `limit` entries from the sequence number `seq` on, or `None` if the buffer has dropped some of
    /// them.
    pub(crate) fn entries_from(&self, seq: i64, limit: usize) -> Option<Vec<(i64, LogEntry)>> {
        if seq < self.first_seq {
            return None;
        }
        let first = self.find_first(seq);
        Some(self.entries.iter().skip(first).take(limit).cloned().collect())
    }

    /// Returns the index of the first entry whose sequence number is `seq` or higher. If no numbers are missing, as is usual
    /// while a turn runs, the index follows from the distance to the end. A binary search for each token and subscriber took 4 %
    /// of the time of a token.
    fn find_first(&self, seq: i64) -> usize {
        let from_end = usize::try_from(self.next_seq - seq).unwrap_or(0);
        let least = self.entries.len().saturating_sub(from_end);
        if self.entries.get(least).is_none_or(|(held, _)| *held >= seq) {
            return least;
        }
        self.entries.partition_point(|(held, _)| *held < seq)
    }

    /// Returns the most recent snapshot if a subscriber still holds it and the buffer has all events after it.
    pub(crate) fn held_snapshot(&self) -> Option<(i64, LogEntry)> {
        let (next_seq, made) = &self.snapshot;
        made.upgrade().filter(|_| *next_seq >= self.first_seq).map(|made| (*next_seq, made))
    }

    /// Returns `true` if the last entry is an end event with the complete message, so that a subscriber needs no
    /// earlier event.
    pub(crate) fn ends_whole(&self) -> bool {
        matches!(self.entries.back().map(|(_, entry)| entry.event()), Some(ChatEvent::MessageEnd(_)))
    }

    /// Remembers the text or reasoning of the event `seq`, which is stored later, joined. The event is already applied to
    /// `progress`.
    pub(crate) fn written(&mut self, seq: i64, event: &ChatEvent) {
        match event {
            ChatEvent::ContentDelta(_) => self.delta_ends.push_back((self.progress.content.len(), seq)),
            // A snapshot is stored together with all text before it.
            ChatEvent::Snapshot(_) => self.delta_ends.clear(),
            ChatEvent::ReasoningDelta(delta) => {
                self.thoughts.push_back((seq, delta.clone()));
                self.last_thought = Some(seq);
            }
            _ => {}
        }
    }

    pub(crate) fn all_text(&self) -> Stored {
        Stored { text_bytes: self.progress.content.len(), reasoning_seq: self.last_thought.unwrap_or(-1) }
    }

    /// Collects text and reasoning under one lock, so that no event stored later has a lower sequence number.
    pub(crate) fn unstored(&mut self, stored: Stored) -> (Vec<(i64, ChatEvent)>, Stored) {
        let text =
            self.text_from(stored.text_bytes).into_iter().map(|(seq, text)| (seq, ChatEvent::ContentDelta(text)));
        let text: Vec<_> = text.collect();
        let text_bytes = self.delta_ends.back().map_or(stored.text_bytes, |(end, _)| *end);
        let thoughts = self.thoughts_after(stored.reasoning_seq);
        let thoughts = thoughts.into_iter().map(|(seq, thought)| (seq, ChatEvent::ReasoningDelta(thought)));
        let reasoning_seq = self.last_thought.unwrap_or(stored.reasoning_seq).max(stored.reasoning_seq);
        (text.into_iter().chain(thoughts).collect(), Stored { text_bytes, reasoning_seq })
    }

    fn text_from(&mut self, offset: usize) -> Vec<(i64, ContentDelta)> {
        while self.delta_ends.front().is_some_and(|(end, _)| *end <= offset) {
            self.delta_ends.pop_front();
        }
        let mut pieces: Vec<(i64, ContentDelta)> = Vec::new();
        let mut start = offset;
        for &(end, seq) in &self.delta_ends {
            let Some(text) = self.progress.content.get(start..end) else { break };
            match pieces.last_mut() {
                Some((last, piece)) if piece.delta.len() + text.len() <= MAX_STORED_TEXT_BYTES => {
                    piece.delta.push_str(text);
                    *last = seq;
                }
                _ => {
                    let offset = i64::try_from(start).unwrap_or(i64::MAX);
                    pieces.push((seq, ContentDelta { offset, delta: text.to_owned() }));
                }
            }
            start = end;
        }
        pieces
    }

    fn thoughts_after(&mut self, seq: i64) -> Vec<(i64, ReasoningDelta)> {
        while self.thoughts.front().is_some_and(|(number, _)| *number <= seq) {
            self.thoughts.pop_front();
        }
        let mut pieces: Vec<(i64, ReasoningDelta)> = Vec::new();
        for (seq, thought) in &self.thoughts {
            match pieces.last_mut() {
                Some((last, piece))
                    if piece.reasoning_id == thought.reasoning_id
                        && piece.delta.len() + thought.delta.len() <= MAX_STORED_TEXT_BYTES =>
                {
                    piece.delta.push_str(&thought.delta);
                    piece.duration_ms = thought.duration_ms;
                    piece.truncated |= thought.truncated;
                    *last = *seq;
                }
                _ => pieces.push((*seq, thought.clone())),
            }
        }
        pieces
    }
}
