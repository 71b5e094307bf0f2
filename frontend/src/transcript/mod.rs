//! The transcript: the page's state of one conversation. It has no signals and does not use the browser.
//!
//! - `fold` applies the server's events.
//! - `entry` is a message; `item`, `call` and `reasoning` are what is in its text; `plan` and `step_state` are its plan.
//! - `layout` assigns the parts of an answer to the steps of its plan, and `segments` splits it at its items.
//! - `groups` collapses finished items; `toggles` has what the user opened.

mod approval;
mod call;
mod entry;
mod fold;
mod groups;
mod item;
mod layout;
mod plan;
mod progress;
mod reasoning;
mod segments;
mod step_state;
mod tally;
mod toggles;

use std::sync::Arc;

pub use call::{Call, CallText, Decided, Extent};
pub use entry::{Activity, Entry};
pub use fold::fold;
pub use groups::{Group, Line, lines};
pub use item::{Item, ItemKey};
pub use progress::Progress;
pub use reasoning::ReasoningPart;
pub use segments::Segment;
pub use step_state::StepState;
pub use tally::Tally;
use tallybook_protocol::{
    ContextTruncation, Conversation, Earlier, Feedback, Message, MessageId, MessageStatus, Role, ToolCall, ToolCallId,
    Usage,
};
pub use toggles::{ExpandAll, Toggles};

/// A conversation as the page knows it: its newest messages, and the number and usage of those before them. Entries are
/// shared, so copying the list is cheap, and unchanged messages have the same address.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Transcript {
    entries: Vec<Arc<Entry>>,
    /// The messages before the entries, until they are loaded.
    earlier: Option<Earlier>,
    /// The message of the current stream. Text deltas do not contain the ID of theirs.
    target: Option<MessageId>,
    /// The number of bytes of the target's text that the server is known to have written.
    expected_len: usize,
}

impl From<Conversation> for Transcript {
    fn from(conversation: Conversation) -> Self {
        let mut transcript = Self::default();
        transcript.refresh(conversation);
        transcript
    }
}

/// Creates entries from stored messages. Keeps the full texts of items in `held`.
fn entries_from(messages: Vec<Message>, held: &[Arc<Entry>]) -> Vec<Arc<Entry>> {
    let entry = |message: Message| {
        let known = held.iter().find(|entry| entry.id == message.id);
        Arc::new(Entry::stored(message, known.map_or(&[], |known| &known.items)))
    };
    messages.into_iter().map(entry).collect()
}

impl Transcript {
    /// Returns the part of the conversation that the model of the newest answer received, if it did not receive all of
    /// it. This is unknown while an answer is being written.
    pub(crate) fn context(&self) -> Option<&ContextTruncation> {
        let answers = self.entries.iter().rev().filter(|entry| entry.role == Role::Assistant);
        answers
            .filter(|entry| !entry.is_streaming() || entry.context.is_some())
            .map(|entry| entry.context.as_ref())
            .next()?
    }

    /// Returns the messages, oldest first.
    pub fn entries(&self) -> &[Arc<Entry>] {
        &self.entries
    }

    /// Returns a message.
    pub fn find(&self, id: MessageId) -> Option<&Arc<Entry>> {
        self.entries.iter().rev().find(|entry| entry.id == id)
    }

    /// Returns the text of the user's last message.
    pub fn last_question(&self) -> Option<&str> {
        self.last_asked().map(|entry| entry.text.as_str())
    }

    /// Returns the ID of the last message.
    pub fn last(&self) -> Option<MessageId> {
        self.entries.last().map(|entry| entry.id)
    }

    /// Returns the user's last message.
    pub fn last_asked(&self) -> Option<&Entry> {
        self.entries.iter().rev().find(|entry| entry.role == Role::User).map(Arc::as_ref)
    }

    /// Returns `true` if a turn is known to run.
    pub fn runs(&self) -> bool {
        self.target.is_some_and(|id| self.find(id).is_none_or(|entry| entry.is_streaming()))
    }

    /// Returns `true` if the last message is a complete answer.
    pub fn is_answered(&self) -> bool {
        self.entries.last().is_some_and(|last| last.role == Role::Assistant && last.status == MessageStatus::Complete)
    }

    /// Returns `true` if the answer to a question has a plan.
    pub(crate) fn is_planned(&self, question: MessageId) -> bool {
        let answer = self.entries.iter().skip_while(|entry| entry.id != question).nth(1);
        answer.is_some_and(|answer| answer.plan.is_some())
    }

    /// Returns `true` if no message is missing between the loaded ones and these stored ones.
    pub fn joins(&self, stored: &Conversation) -> bool {
        let first = stored.messages.first();
        stored.earlier.is_none() || first.is_some_and(|first| self.entries.iter().any(|entry| entry.id == first.id))
    }

    /// Returns the ID of the first loaded message.
    pub fn first(&self) -> Option<MessageId> {
        self.entries.first().map(|entry| entry.id)
    }

    /// Returns `true` if there are messages before the first loaded one.
    pub fn has_earlier(&self) -> bool {
        self.earlier.is_some()
    }

    /// Inserts a page of messages before the message `first`. Returns `false` and changes nothing if `first` is not the
    /// first loaded message: the page was already inserted, or another branch is shown.
    pub fn prepend(&mut self, first: MessageId, page: Conversation) -> bool {
        let fits = self.first() == Some(first);
        if fits {
            self.earlier = page.earlier;
            self.entries.splice(..0, entries_from(page.messages, &[]));
        }
        fits
    }

    /// Returns the transcript from the message before `first` on; `None` if `first` is not loaded or is the first
    /// message.
    pub(crate) fn with_one_before(&self, first: MessageId) -> Option<Self> {
        let at = self.entries.iter().position(|entry| entry.id == first)?.checked_sub(1)?;
        Some(Self { entries: self.entries[at..].to_vec(), ..*self })
    }

    /// Replaces the messages with stored ones. Loaded messages before the first of these stay, because the branch that
    /// leads to a message never changes. Full texts of calls stay, too.
    pub fn refresh(&mut self, stored: Conversation) {
        let mut refreshed = Self {
            target: stored.active_message_id,
            entries: entries_from(stored.messages, &self.entries),
            earlier: stored.earlier,
            expected_len: 0,
        };
        let joins = |first| self.entries.iter().position(|entry| entry.id == first);
        if let Some(at) = refreshed.first().and_then(joins).filter(|at| *at > 0) {
            refreshed.earlier = self.earlier;
            refreshed.entries.splice(..0, self.entries.drain(..at));
        }
        *self = refreshed;
    }

    /// Returns a tool call.
    pub fn find_call(&self, id: ToolCallId) -> Option<&Arc<Call>> {
        self.entries.iter().rev().find_map(|entry| entry.call(id))
    }

    /// Changes a call.
    fn change_call(&mut self, id: ToolCallId, change: impl FnOnce(&mut Call)) {
        let entry = self.entries.iter_mut().rev().find(|entry| entry.call(id).is_some());
        if let Some(call) = entry.and_then(|entry| Arc::make_mut(entry).calls_mut().find(|call| call.id == id)) {
            change(Arc::make_mut(call));
        }
    }

    /// Returns the answer that waits for approval of its calls. It is always the last message.
    pub fn awaiting(&self) -> Option<&Entry> {
        self.entries.last().filter(|last| last.status == MessageStatus::AwaitingApproval).map(Arc::as_ref)
    }

    /// Stores the full texts of a call. Ignores calls that are not in the transcript any more.
    pub fn put_call(&mut self, call: ToolCall) {
        let id = call.tool_call_id;
        let Some(entry) = self.entries.iter_mut().rev().find(|entry| entry.call(id).is_some()) else { return };
        let Some(held) = Arc::make_mut(entry).items.iter_mut().find(|item| item.key() == ItemKey::Call(id)) else {
            return;
        };
        *held = Item::Call(Arc::new(call.into())).merged(held.clone());
    }

    /// Sets the user's feedback on an answer. Ignores answers that are not in the transcript any more.
    pub fn rate(&mut self, id: MessageId, feedback: Option<Feedback>) {
        if let Some(entry) = self.find_mut(id) {
            entry.feedback = feedback;
        }
    }

    /// Returns the messages from the first one on that differs from `drawn`.
    pub(crate) fn changed_since(&self, drawn: &Self) -> &[Arc<Entry>] {
        let same = self.entries.iter().zip(&drawn.entries).take_while(|(known, drawn)| Arc::ptr_eq(known, drawn));
        &self.entries[same.count()..]
    }

    /// Removes a message and all after it, and returns them. Another version will take their place.
    pub fn split_off(&mut self, id: MessageId) -> Vec<Arc<Entry>> {
        let at = self.entries.iter().position(|entry| entry.id == id);
        self.entries.split_off(at.unwrap_or(self.entries.len()))
    }

    /// Puts back messages that were split off, after a request for another version failed. Does nothing if one of their
    /// versions is shown already.
    pub fn restore(&mut self, cut: Vec<Arc<Entry>>) {
        let is_version_of = |cut: MessageId, entry: &Entry| entry.id == cut || entry.siblings.contains(&cut);
        let is_gone = |cut: &Arc<Entry>| !self.entries.iter().any(|entry| is_version_of(cut.id, entry));
        if cut.first().is_some_and(is_gone) {
            self.entries.extend(cut);
        }
    }

    /// Removes all messages after `parent`; all messages if it is `None`. Does nothing if `parent` is not loaded.
    fn truncate_after(&mut self, parent: Option<MessageId>) {
        let kept = match parent {
            None => {
                self.earlier = None;
                0
            }
            Some(id) => self.entries.iter().position(|entry| entry.id == id).map_or(self.entries.len(), |at| at + 1),
        };
        self.entries.truncate(kept);
    }

    /// Returns the usage of all answers together. Returns `None` unless several loaded answers, or earlier ones, report
    /// usage: a single answer shows its own.
    pub fn usage(&self) -> Option<Usage> {
        let counted = || self.entries.iter().filter_map(|entry| entry.usage);
        let earlier = self.earlier.map(|earlier| earlier.usage).filter(|usage| *usage != Usage::default());
        (earlier.is_some() || counted().nth(1).is_some()).then(|| counted().chain(earlier).sum())
    }

    /// Returns `true` if text is missing that only a snapshot can provide.
    pub fn has_gap(&self) -> bool {
        self.target
            .and_then(|id| self.find(id))
            .is_some_and(|entry| entry.is_streaming() && entry.text.len() < self.expected_len)
    }

    fn find_mut(&mut self, id: MessageId) -> Option<&mut Entry> {
        self.entries.iter_mut().rev().find(|entry| entry.id == id).map(Arc::make_mut)
    }

    fn find_or_add(&mut self, id: MessageId) -> &mut Entry {
        let at = self.entries.iter().position(|entry| entry.id == id).unwrap_or_else(|| {
            self.entries.push(Arc::new(Entry::assistant(id)));
            self.entries.len() - 1
        });
        Arc::make_mut(&mut self.entries[at])
    }

    fn set_target(&mut self, id: MessageId) {
        if self.target != Some(id) {
            self.target = Some(id);
            self.expected_len = 0;
        }
    }

    fn streaming_target(&mut self) -> Option<&mut Entry> {
        let id = self.target?;
        // Checked before the entry is borrowed for writing, because `make_mut` copies a shared entry.
        self.find(id)?.is_streaming().then_some(())?;
        self.find_mut(id)
    }
}

#[cfg(test)]
mod tests;
