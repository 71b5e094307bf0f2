//! The rendered state of a world's transcript, updated as in `session::drawing`.

use std::{collections::HashMap, mem, sync::Arc};

use super::MessageId;
use crate::transcript::{Entry, Transcript};

#[derive(Default)]
pub(super) struct Screen {
    transcript: Transcript,
    messages: HashMap<MessageId, Arc<Entry>>,
    /// `true` if the next frame draws the known transcript.
    is_due: bool,
}

impl Screen {
    /// Draws the messages that changed.
    pub(super) fn draw(&mut self, known: &Transcript) {
        let changed = known.changed_since(&self.transcript);
        self.messages.extend(changed.iter().map(|entry| (entry.id, Arc::clone(entry))));
        self.transcript = known.clone();
        for entry in known.entries() {
            assert_eq!(self.messages.get(&entry.id), Some(entry), "a message is drawn as it is known");
        }
    }

    pub(super) fn draw_soon(&mut self) {
        self.is_due = true;
    }

    /// Draws the next frame.
    pub(super) fn frame(&mut self, known: &Transcript) {
        if mem::take(&mut self.is_due) {
            self.draw(known);
        }
    }

    /// Checks that the screen shows the known transcript.
    pub(super) fn check(&self, known: &Transcript) {
        let seen = |transcript: &Transcript| (transcript.entries().to_vec(), transcript.has_earlier());
        assert_eq!(seen(&self.transcript), seen(known));
    }
}
