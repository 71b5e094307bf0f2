//! What a reader of a world sees, drawn as `session::drawing` does it: what is due in the next frame, and of each message what
//! was drawn last.

use std::{collections::HashMap, mem, sync::Arc};

use super::MessageId;
use crate::transcript::{Entry, Transcript};

#[derive(Default)]
pub(super) struct Screen {
    transcript: Transcript,
    messages: HashMap<MessageId, Arc<Entry>>,
    /// Whether the next frame will draw what is known.
    is_due: bool,
}

impl Screen {
    /// Draws what is known. What has not changed since stays as it was drawn.
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

    /// The next frame has come.
    pub(super) fn frame(&mut self, known: &Transcript) {
        if mem::take(&mut self.is_due) {
            self.draw(known);
        }
    }

    /// However late it was drawn, nothing of it is missing.
    pub(super) fn check(&self, known: &Transcript) {
        let seen = |transcript: &Transcript| (transcript.entries().to_vec(), transcript.has_earlier());
        assert_eq!(seen(&self.transcript), seen(known));
    }
}
