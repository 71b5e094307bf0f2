//! From what is known of the conversation to what is drawn of it: at most once a frame, and only the messages that
//! changed.

use std::sync::Arc;

use leptos::prelude::*;
use tallybook_protocol::MessageId;

use super::shell::Session;
use crate::transcript::Entry;

/// A message as far as it is; there is always one while it is drawn.
pub(crate) type DrawnEntry = Option<Arc<Entry>>;

impl Session {
    /// A message, as it changes, for as long as the component that asks for it is there.
    pub(crate) fn entry(self, id: MessageId) -> ReadSignal<DrawnEntry> {
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
        let Some(known) = self.state.try_with_value(|state| state.transcript.clone()) else { return };
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

    /// Shows what is known in the next frame. However fast text comes in, it is drawn at most once a frame, and in a
    /// hidden tab not at all.
    pub(super) fn draw_soon(self) {
        if self.is_drawing.get_value() {
            return;
        }
        self.is_drawing.set_value(true);
        request_animation_frame(move || {
            self.is_drawing.try_set_value(false);
            self.draw();
        });
    }
}
