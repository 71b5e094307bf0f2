//! Updates the rendered transcript from the known one: at most once a frame, and only the messages that changed.

use std::{collections::HashMap, sync::Arc};

use leptos::{prelude::*, task::tick};
use tallybook_protocol::MessageId;

use super::state::State;
use crate::{
    browser,
    mount_schedule::in_next_frame,
    transcript::{Entry, Transcript},
};

/// A message in its current state. Always `Some` while the message is rendered.
pub(crate) type DrawnEntry = Option<Arc<Entry>>;

/// The rendered state of a session's transcript.
#[derive(Clone, Copy)]
pub(super) struct Drawing {
    known: StoredValue<State>,
    /// The transcript that is rendered. It is at most one frame behind the known state.
    pub(super) transcript: RwSignal<Transcript>,
    /// The messages that are rendered. Each has its own signal, so that an update to one message does not affect the
    /// others.
    drawn: StoredValue<HashMap<MessageId, RwSignal<DrawnEntry>>>,
    /// `true` if an update is scheduled for the next frame.
    is_due: StoredValue<bool>,
}

impl Drawing {
    pub(super) fn new(known: StoredValue<State>) -> Self {
        Self {
            known,
            transcript: RwSignal::new(known.with_value(|state| state.transcript.clone())),
            drawn: StoredValue::default(),
            is_due: StoredValue::new(false),
        }
    }

    /// Returns a signal of a message. It is updated as long as the calling component is mounted.
    pub(super) fn entry(self, id: MessageId) -> ReadSignal<DrawnEntry> {
        let entry = RwSignal::new(self.transcript.with_untracked(|transcript| transcript.find(id).cloned()));
        self.drawn.update_value(|drawn| {
            drawn.insert(id, entry);
        });
        on_cleanup(move || {
            self.drawn.try_update_value(|drawn| drawn.remove(&id));
        });
        entry.read_only()
    }

    /// Updates the rendered transcript to the known one.
    pub(super) fn draw(self) {
        // The session may have ended since this was scheduled.
        if let Some(known) = self.known.try_with_value(|state| state.transcript.clone()) {
            self.show(known);
        }
    }

    /// Renders a transcript: its messages, and what has changed in those that are rendered already.
    fn show(self, transcript: Transcript) {
        let changed = self.transcript.try_with_untracked(|drawn| transcript.changed_since(drawn).to_vec());
        self.transcript.try_set(transcript);
        for entry in changed.unwrap_or_default() {
            let drawn = self.drawn.try_with_value(|drawn| drawn.get(&entry.id).copied()).flatten();
            let drawn = drawn.filter(|drawn| drawn.with_untracked(|held| held.as_ref() != Some(&entry)));
            if let Some(drawn) = drawn {
                drawn.set(Some(entry));
            }
        }
    }

    /// Shows earlier messages one at a time. If several are inserted at once, Leptos removes all messages after them
    /// and inserts them again, and the browser must lay all of them out again.
    pub(super) async fn draw_earlier(self) {
        let next = || {
            let first = self.transcript.try_with_untracked(Transcript::first)?;
            let known = self.known.try_with_value(|state| state.transcript.clone())?;
            known.with_one_before(first?)
        };
        loop {
            browser::released().await;
            let next = next();
            let is_last = next.is_none();
            if let Some(transcript) = next {
                self.show(transcript);
            }
            tick().await;
            browser::replace_stale();
            browser::replay_presses();
            if is_last {
                return;
            }
        }
    }

    /// Updates the rendered transcript in the next frame. However fast text arrives, there is at most one update a
    /// frame, and none in a hidden tab.
    pub(super) fn draw_soon(self) {
        if self.is_due.get_value() {
            return;
        }
        self.is_due.set_value(true);
        in_next_frame(move || {
            self.is_due.try_set_value(false);
            self.draw();
        });
    }
}
