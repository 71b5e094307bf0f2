//! The text of a question while it is edited in its place.

use super::super::{
    reader::{Asked, Reader},
    shown::Place,
    state::{State, joined},
};

impl State {
    /// Takes what is in the field of the question that is being edited.
    pub(super) fn write_edit(&mut self, text: String) {
        if let Some(edited) = &mut self.edited {
            edited.is_changed |= edited.text != text;
            edited.text = text;
        }
    }

    /// Puts an edited text into the message field if its question is no longer shown, since the branch was changed. To be called
    /// after whatever happened.
    pub(super) fn rescue_edit(&mut self) {
        let Some(edited) = &self.edited else { return };
        let is_cut = matches!(self.reader, Reader::Asking(Asked::Message { .. } | Asked::Regenerate { .. }));
        let is_earlier = self.transcript.has_earlier() && self.transcript.first().is_none_or(|first| edited.id < first);
        let is_open = matches!(self.place, Place::Open(_));
        if !is_open || is_cut || is_earlier || self.transcript.find(edited.id).is_some() {
            return;
        }
        if let Some(edited) = self.edited.take().filter(|edited| edited.is_changed) {
            self.draft = joined(&edited.text, &self.draft);
            self.notice = Some(self.text.edit_moved().to_owned());
        }
    }
}
