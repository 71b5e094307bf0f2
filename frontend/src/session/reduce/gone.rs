//! What becomes of what was being written when its conversation is gone.

use super::super::{
    effect::Effect,
    reader::Reader,
    shown::{Loading, Place},
    state::{State, joined},
};

impl State {
    /// The conversation is gone. What was written in it goes on in a new chat.
    pub(super) fn deleted(&mut self, out: &mut Vec<Effect>) {
        if self.place == Place::Deleted {
            return;
        }
        self.held = None;
        let unstored = self.unstored.take().filter(|_| !self.queue.is_sending);
        self.queue_into_draft();
        if let Some(unstored) = unstored {
            self.draft = joined(&unstored, &self.draft);
        }
        if let Some(edited) = self.edited.take().filter(|edited| edited.is_changed) {
            self.draft = joined(&edited.text, &self.draft);
        }
        (self.notice, self.failed, self.begins) = (None, None, false);
        (self.is_stale, self.is_all_stale) = (false, false);
        (self.stopping, self.is_stop_wanted) = (false, false);
        (self.coming, self.earlier, self.goal) = (None, Loading::Idle, None);
        self.place = Place::Deleted;
        self.let_go(Reader::Resting, out);
        out.extend([Effect::AdoptDraft, Effect::Draw]);
        if std::mem::take(&mut self.is_leaving) {
            out.push(Effect::OpenNewChat);
        }
    }

    pub(super) fn adopt(&mut self, draft: &str) {
        if matches!(self.place, Place::Deleted | Place::Missing) && draft != self.draft {
            self.draft = joined(draft, &self.draft);
        }
    }
}
