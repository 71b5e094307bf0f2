//! From what is known of the conversation to what is drawn of it: at most once a frame, and only the messages that
//! changed.

use std::{collections::HashMap, sync::Arc};

use leptos::{prelude::*, task::tick};
use tallybook_protocol::MessageId;

use super::state::State;
use crate::{
    browser,
    in_turn::in_next_frame,
    transcript::{Entry, Transcript},
};

/// A message as far as it is; there is always one while it is drawn.
pub(crate) type DrawnEntry = Option<Arc<Entry>>;

/// What is drawn of a session's transcript.
#[derive(Clone, Copy)]
pub(super) struct Drawing {
    known: StoredValue<State>,
    /// Up to one frame behind what is known.
    pub(super) transcript: RwSignal<Transcript>,
    /// The messages that are drawn. Each has a signal, so that a word in one of a thousand concerns no other.
    drawn: StoredValue<HashMap<MessageId, RwSignal<DrawnEntry>>>,
    /// Whether the next frame will draw what is known.
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

    /// A message, as it changes, for as long as the component that asks for it is there.
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

    /// Shows what is known.
    pub(super) fn draw(self) {
        // By the next frame the conversation may have been left.
        let Some(known) = self.known.try_with_value(|state| state.transcript.clone()) else { return };
        let changed = self.transcript.try_with_untracked(|drawn| known.changed_since(drawn).to_vec());
        self.transcript.try_set(known);
        for entry in changed.unwrap_or_default() {
            let drawn = self.drawn.with_value(|drawn| drawn.get(&entry.id).copied());
            let drawn = drawn.filter(|drawn| drawn.with_untracked(|held| held.as_ref() != Some(&entry)));
            if let Some(drawn) = drawn {
                drawn.set(Some(entry));
            }
        }
    }

    /// Shows the messages that came before those that are shown, one by one: of several at once Leptos takes out all that come
    /// after them and puts them back, which browsers then lay out anew.
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
            next.map(|transcript| self.transcript.try_set(transcript));
            tick().await;
            browser::replace_drawn();
            if is_last {
                return;
            }
        }
    }

    /// Shows what is known in the next frame. However fast text comes in, it is drawn at most once a frame, and in a
    /// hidden tab not at all.
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
