//! What a turn's log holds: its latest events, and the message as far as it is.

use std::collections::VecDeque;

use tallybook_protocol::{ChatEvent, ContentDelta, ReasoningDelta};

use super::{
    entry::{LogEntry, WeakLogEntry, event_bytes},
    limits::{MAX_BUFFERED_BYTES, MAX_STORED_TEXT_BYTES},
    progress::Progress,
};

/// How much of what a turn writes for people is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Bytes of the answer's text.
    pub text_bytes: usize,
    /// The number of the last event of its thinking; -1 where there is none.
    pub reasoning_seq: i64,
}

#[derive(Debug, Default)]
pub(super) struct State {
    /// Entries in the order of their numbers, all below `next_seq`. Numbers are missing in a stored copy, since text is stored
    /// joined, and after a commit whose answer was lost.
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
    delta_ends: VecDeque<(usize, i64)>,
    /// What was thought that may not be stored yet, under its numbers; and the last such number there was.
    thoughts: VecDeque<(i64, ReasoningDelta)>,
    last_thought: Option<i64>,
    /// The snapshot that was last made and the number that was next then, for as long as some reader holds it.
    pub(super) snapshot: (i64, WeakLogEntry),
}

impl State {
    /// What is known of a turn whose last event is about to be pushed under the number `seq`.
    pub(super) fn before_end(seq: i64, progress: Progress) -> Self {
        Self { first_seq: seq, next_seq: seq, progress, is_end_alone: true, ..Self::default() }
    }

    pub(super) fn push(&mut self, seq: i64, entry: LogEntry) {
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

    /// At most `limit` entries from a number on; `None` where some of them are not here any more.
    pub(super) fn entries_from(&self, seq: i64, limit: usize) -> Option<Vec<(i64, LogEntry)>> {
        if seq < self.first_seq {
            return None;
        }
        let first = self.find_first(seq);
        Some(self.entries.iter().skip(first).take(limit).cloned().collect())
    }

    /// The place of the first entry from a number on. Where none is left out, which is so while a turn runs, it is as far from the
    /// end as its number is: a search for each token and reader took a twenty-fifth of the time of a token.
    fn find_first(&self, seq: i64) -> usize {
        let from_end = usize::try_from(self.next_seq - seq).unwrap_or(0);
        let least = self.entries.len().saturating_sub(from_end);
        if self.entries.get(least).is_none_or(|(held, _)| *held >= seq) {
            return least;
        }
        self.entries.partition_point(|(held, _)| *held < seq)
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

    /// Remembers what an event of the number `seq` adds that is stored later, joined; it is part of the progress already.
    pub(super) fn written(&mut self, seq: i64, event: &ChatEvent) {
        match event {
            ChatEvent::ContentDelta(_) => self.delta_ends.push_back((self.progress.content.len(), seq)),
            // All text was stored with it.
            ChatEvent::Snapshot(_) => self.delta_ends.clear(),
            ChatEvent::ReasoningDelta(delta) => {
                self.thoughts.push_back((seq, delta.clone()));
                self.last_thought = Some(seq);
            }
            _ => {}
        }
    }

    pub(super) fn all_words(&self) -> Stored {
        Stored { text_bytes: self.progress.content.len(), reasoning_seq: self.last_thought.unwrap_or(-1) }
    }

    /// Both kinds at one moment: of what is stored later nothing has a lower number.
    pub(super) fn unstored(&mut self, stored: Stored) -> (Vec<(i64, ChatEvent)>, Stored) {
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
