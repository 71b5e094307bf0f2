//! The transcript: what the page knows of one conversation, and the pure `fold` that applies the server's events to it.
//! No signals, no browser: it is tested natively. A message with its calls is in `entry`, how it is cut into text and tool
//! calls in `segments`, how finished calls fold together in `groups`, what is open in `toggles`.
//!
//! Applying an event again changes nothing, whatever the order of the repetitions, so a reader may join late, reconnect
//! and hear things twice.

mod entry;
mod groups;
mod segments;
mod tally;
mod toggles;

use std::sync::Arc;

pub use entry::{Call, Entry};
pub use groups::{Group, Line, lines};
pub use segments::{Segment, segments};
pub use tally::Tally;
use tallybook_protocol::{
    ChatEvent, ContentDelta, Conversation, Earlier, Message, MessageEnd, MessageStart, MessageStatus, Role, Snapshot,
    ToolCallEnd, ToolCallStart, ToolCallStatus, TurnError, Usage,
};
pub use toggles::{All, Toggles};

/// A conversation as the page knows it: its newest messages, and what there is to know of those before them. Entries are
/// shared, so that a copy of the list costs little and an unchanged message is recognised by its address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    entries: Vec<Arc<Entry>>,
    /// What comes before the entries, until it is loaded.
    earlier: Option<Earlier>,
    /// The message that the events being read belong to: text deltas do not name theirs.
    target: Option<i64>,
    /// How many bytes of the target's text the server is known to have written.
    announced: usize,
}

impl From<Conversation> for Transcript {
    fn from(conversation: Conversation) -> Self {
        Self {
            target: conversation.active_message_id,
            entries: entries_of(conversation.messages),
            earlier: conversation.earlier,
            announced: 0,
        }
    }
}

fn entries_of(messages: Vec<Message>) -> Vec<Arc<Entry>> {
    messages.into_iter().map(|message| Arc::new(message.into())).collect()
}

impl Transcript {
    /// The messages, oldest first.
    pub fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// One message.
    pub fn find(&self, id: i64) -> Option<&Arc<Entry>> {
        self.entries.iter().rev().find(|entry| entry.id == id)
    }

    /// What the reader said last.
    pub fn last_question(&self) -> Option<&str> {
        self.entries.iter().rev().find(|entry| entry.role == Role::User).map(|entry| entry.text.as_str())
    }

    /// The first message, whichever it is.
    pub fn first(&self) -> Option<i64> {
        self.entries.first().map(|entry| entry.id)
    }

    /// Whether there are messages before the first one here.
    pub fn has_earlier(&self) -> bool {
        self.earlier.is_some()
    }

    /// Puts in front what leads up to the message `first`. When that is no longer the first one here, because this was
    /// done already or another branch is shown by now, it changes nothing, and says so.
    pub fn put_before(&mut self, first: i64, page: Conversation) -> bool {
        let fits = self.first() == Some(first);
        if fits {
            self.earlier = page.earlier;
            self.entries.splice(..0, entries_of(page.messages));
        }
        fits
    }

    /// Takes a conversation as it is stored. What is here of before its first message stays: the way to a message never
    /// changes.
    pub fn renew(&mut self, stored: Conversation) {
        let mut renewed = Self::from(stored);
        let joins = |first| self.entries.iter().position(|entry| entry.id == first);
        if let Some(at) = renewed.first().and_then(joins).filter(|at| *at > 0) {
            renewed.earlier = self.earlier;
            renewed.entries.splice(..0, self.entries.drain(..at));
        }
        *self = renewed;
    }

    /// The messages that are not the very same in `drawn`.
    pub(crate) fn changed_since(&self, drawn: &Self) -> &[Arc<Entry>] {
        let same = self.entries.iter().zip(&drawn.entries).take_while(|(known, drawn)| Arc::ptr_eq(known, drawn));
        &self.entries[same.count()..]
    }

    /// Takes away a message and all after it, and gives them: another version takes their place.
    pub fn cut_before(&mut self, id: i64) -> Vec<Arc<Entry>> {
        let at = self.entries.iter().position(|entry| entry.id == id);
        self.entries.split_off(at.unwrap_or(self.entries.len()))
    }

    /// Puts back what was cut off: nothing came of the other version. Changes nothing when it is there again already.
    pub fn put_back(&mut self, cut: Vec<Arc<Entry>>) {
        let is_end = |cut: &Arc<Entry>| self.entries.last().is_none_or(|last| last.id < cut.id);
        if cut.first().is_some_and(is_end) {
            self.entries.extend(cut);
        }
    }

    /// Takes away all that is not on the way to a turn below `parent`. A parent that is not here says nothing.
    fn keep_through(&mut self, parent: Option<i64>) {
        let kept = match parent {
            None => {
                self.earlier = None;
                0
            }
            Some(id) => self.entries.iter().position(|entry| entry.id == id).map_or(self.entries.len(), |at| at + 1),
        };
        self.entries.truncate(kept);
    }

    /// What all answers cost together; `None` when that is what one of those that are here says of itself, or nothing.
    pub fn usage(&self) -> Option<Usage> {
        let counted = || self.entries.iter().filter_map(|entry| entry.usage);
        let earlier = self.earlier.map(|earlier| earlier.usage).filter(|usage| *usage != Usage::default());
        (earlier.is_some() || counted().nth(1).is_some()).then(|| counted().chain(earlier).sum())
    }

    /// Whether text is missing that only a snapshot can bring.
    pub fn has_gap(&self) -> bool {
        self.target
            .and_then(|id| self.find(id))
            .is_some_and(|entry| entry.is_streaming() && entry.text.len() < self.announced)
    }

    fn find_mut(&mut self, id: i64) -> Option<&mut Entry> {
        self.entries.iter_mut().rev().find(|entry| entry.id == id).map(Arc::make_mut)
    }

    fn find_or_add(&mut self, id: i64) -> &mut Entry {
        let at = self.entries.iter().position(|entry| entry.id == id).unwrap_or_else(|| {
            self.entries.push(Arc::new(Entry::assistant(id)));
            self.entries.len() - 1
        });
        Arc::make_mut(&mut self.entries[at])
    }

    fn turn_to(&mut self, id: i64) {
        if self.target != Some(id) {
            self.target = Some(id);
            self.announced = 0;
        }
    }

    fn streaming_target(&mut self) -> Option<&mut Entry> {
        let id = self.target?;
        // Looked up before it is borrowed for writing: `make_mut` copies a shared entry.
        self.find(id)?.is_streaming().then_some(())?;
        self.find_mut(id)
    }
}

/// Applies one event. What it has heard before, and what it does not know, changes nothing.
pub fn fold(transcript: &mut Transcript, event: ChatEvent) {
    match event {
        ChatEvent::MessageStart(start) => message_start(transcript, start),
        ChatEvent::ToolCallStart(start) => tool_call_start(transcript, start),
        ChatEvent::ToolCallEnd(end) => tool_call_end(transcript, end),
        ChatEvent::ContentDelta(delta) => content_delta(transcript, &delta),
        ChatEvent::MessageEnd(end) => message_end(transcript, end),
        ChatEvent::Error(error) => turn_error(transcript, error),
        ChatEvent::Snapshot(snapshot) => apply_snapshot(transcript, snapshot),
        ChatEvent::Unknown => {}
    }
}

fn message_start(transcript: &mut Transcript, start: MessageStart) {
    // Row ids grow: a turn that is not newer than what is shown has been heard of before.
    let is_news = transcript.entries.last().is_none_or(|last| last.id < start.assistant_message_id);
    if is_news {
        transcript.keep_through(start.parent_id);
        let user = Entry { siblings: start.user_siblings, ..Entry::user(start.user_message_id, start.content) };
        let siblings = start.assistant_siblings;
        let assistant = Entry { siblings, ..Entry::assistant(start.assistant_message_id) };
        transcript.entries.extend([user, assistant].map(Arc::new));
    }
    transcript.turn_to(start.assistant_message_id);
}

fn tool_call_start(transcript: &mut Transcript, start: ToolCallStart) {
    let known = transcript.entries.iter().any(|entry| entry.calls.iter().any(|call| call.id == start.tool_call_id));
    if known {
        return;
    }
    if let Some(entry) = transcript.streaming_target() {
        entry.calls.push(Call {
            id: start.tool_call_id,
            name: start.tool_name,
            input: start.input,
            offset: start.offset,
            status: ToolCallStatus::Pending,
            output: None,
            error: None,
            duration_ms: None,
        });
    }
}

fn tool_call_end(transcript: &mut Transcript, end: ToolCallEnd) {
    let open = |call: &Call| call.id == end.tool_call_id && !call.is_over();
    let Some(entry) = transcript.entries.iter_mut().find(|entry| entry.calls.iter().any(open)) else { return };
    if let Some(call) = Arc::make_mut(entry).calls.iter_mut().find(|call| open(call)) {
        call.output = end.output;
        call.error = end.error;
        call.status = end.status;
        call.duration_ms = Some(end.duration_ms);
    }
}

fn content_delta(transcript: &mut Transcript, delta: &ContentDelta) {
    let Ok(offset) = usize::try_from(delta.offset) else { return };
    let Some(entry) = transcript.streaming_target() else { return };
    // What one already has is dropped; what does not join on stays out, and `announced` remembers that it is missing.
    let new_text = entry.text.len().checked_sub(offset).and_then(|held| delta.delta.get(held..));
    if let Some(new_text) = new_text {
        entry.text.push_str(new_text);
    }
    transcript.announced = transcript.announced.max(offset.saturating_add(delta.delta.len()));
}

fn message_end(transcript: &mut Transcript, end: MessageEnd) {
    let entry = transcript.find_or_add(end.assistant_message_id);
    entry.text = end.content;
    entry.status = end.status;
    entry.error = end.error;
    entry.error_code = end.error_code;
    entry.stop_reason = end.stop_reason;
    entry.calls = end.tool_calls.into_iter().map(Call::from).collect();
    entry.usage = Some(end.usage).filter(|usage| *usage != Usage::default());
}

fn turn_error(transcript: &mut Transcript, error: TurnError) {
    // Without a message it concerns this reader, not the turn.
    let Some(id) = error.assistant_message_id else { return };
    let entry = transcript.find_or_add(id);
    if !entry.is_streaming() {
        return;
    }
    entry.status = MessageStatus::Failed;
    entry.error = Some(error.error);
    entry.error_code = Some(error.code);
    for call in entry.calls.iter_mut().filter(|call| !call.is_over()) {
        call.status = ToolCallStatus::Interrupted;
    }
}

fn apply_snapshot(transcript: &mut Transcript, snapshot: Snapshot) {
    let runs = snapshot.status == MessageStatus::Streaming;
    transcript.turn_to(snapshot.assistant_message_id);
    let entry = transcript.find_or_add(snapshot.assistant_message_id);
    if snapshot.epoch > entry.epoch {
        // The turn was cut off and goes on from its last whole step: what it wrote after that is void.
        let siblings = std::mem::take(&mut entry.siblings);
        *entry = Entry { epoch: snapshot.epoch, siblings, ..Entry::assistant(entry.id) };
        transcript.announced = 0;
    }
    let entry = transcript.find_or_add(snapshot.assistant_message_id);
    if snapshot.epoch < entry.epoch || (runs && !entry.is_streaming()) {
        // Heard again after the turn's end, or after it went on.
        return;
    }
    // A turn only ever adds to its text, so a snapshot that is the beginning of what we hold is an old one.
    if !runs || !entry.text.starts_with(&snapshot.content) {
        entry.text = snapshot.content;
    }
    let mut held = std::mem::take(&mut entry.calls);
    for call in snapshot.tool_calls.into_iter().map(Call::from) {
        match held.iter().position(|known| known.id == call.id) {
            Some(at) if held[at].is_over() && !call.is_over() => entry.calls.push(held.remove(at)),
            Some(at) => {
                held.remove(at);
                entry.calls.push(call);
            }
            None => entry.calls.push(call),
        }
    }
    if runs {
        entry.calls.append(&mut held);
    }
    entry.status = snapshot.status;
}

#[cfg(test)]
mod tests;
