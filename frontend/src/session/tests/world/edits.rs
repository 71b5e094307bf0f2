//! Edits of questions and of queued messages.

use super::{fields::id_of, *};
use crate::session::files::{AttachedFile, FilesOf};

impl World {
    /// Edits questions and queued messages.
    pub(super) fn edit(&mut self, happening: Happening) {
        match happening {
            Happening::Unqueue(which) => {
                let Some(id) = self.queued_id(which) else { return };
                let messages = &self.page.state.queue.messages;
                let Some(Queued { text, files, .. }) = messages.iter().find(|queued| queued.id == id).cloned() else {
                    return;
                };
                let text = text + &self.edited_queued_text(Some(&id));
                let files: Vec<_> = files.iter().map(|file| file.id).collect();
                self.give_up(Input::User(Action::Unqueue(id)), &text, &files);
            }
            Happening::EditQueued(which) => {
                let id = self.queued_id(which);
                // The user gives up what was typed for another message.
                let text = self.edited_queued_text(None);
                let kept: Vec<_> = self.page.state.queue.messages.iter().map(|queued| queued.text.clone()).collect();
                let is_kept = |typed: &String| !text.contains(typed) || kept.iter().any(|text| text.contains(typed));
                self.typed.retain(is_kept);
                self.feed(Input::User(Action::EditQueued(id)));
            }
            Happening::WriteQueued => {
                let queue = &self.page.state.queue;
                let edited = queue.messages.iter().find(|queued| Some(&queued.id) == queue.edited.as_ref());
                let Some(text) = edited.map(|edited| queue.edited_text.clone().unwrap_or(edited.text.clone())) else {
                    return;
                };
                let typed = self.type_text();
                self.feed(Input::User(Action::WriteQueued(format!("{text} {typed}"))));
            }
            Happening::ChangeQueued => {
                let queue = &self.page.state.queue;
                let edited = queue.messages.iter().find(|queued| Some(&queued.id) == queue.edited.as_ref());
                let Some(text) = edited.map(|edited| queue.edited_text.clone().unwrap_or(edited.text.clone())) else {
                    return;
                };
                self.queued.insert(text.clone(), text.clone());
                self.feed(Input::User(Action::ChangeQueued(text.clone(), text)));
            }
            Happening::BeginEdit(which) => {
                // The page offers to edit only when no turn runs, and one question at a time.
                let is_offered = self.page.state.at_rest().is_some() && self.page.state.edited.is_none();
                let Some((id, _)) = self.entry(which, Role::User).filter(|_| is_offered) else { return };
                let Some(entry) = self.page.state.transcript.find(id) else { return };
                let (text, files) =
                    (entry.text.clone(), entry.files.iter().cloned().map(AttachedFile::stored).collect());
                let edited = Edited { id, text, files, is_changed: false, is_from_field: false };
                self.feed(Input::User(Action::BeginEdit(Some(edited))));
            }
            Happening::EditLast => self.feed(Input::User(Action::EditLast)),
            Happening::WriteEdit => {
                let Some(text) = self.page.state.edited.as_ref().map(|edited| edited.text.clone()) else { return };
                let typed = self.type_text();
                self.feed(Input::User(Action::WriteEdit(format!("{text} {typed}"))));
            }
            Happening::RemoveEditedFile(which) => {
                let files = self.page.state.edited.as_ref().map(|edited| edited.files.as_slice()).unwrap_or_default();
                let Some(file) = which.checked_rem(files.len()).map(|at| files[at].clone()) else { return };
                let id: Vec<_> = id_of(&file).into_iter().collect();
                self.give_up(Input::User(Action::RemoveFile(FilesOf::Edit, file.key)), "", &id);
            }
            Happening::Edit => {
                if let Some(Edited { id, text, is_changed: true, .. }) = self.page.state.edited.clone() {
                    self.feed(Input::User(Action::Edit(id, text.clone(), text)));
                }
            }
            _ => {}
        }
    }

    /// Returns the text that was typed for the queued message `id`, or for any; empty if that is not being edited.
    fn edited_queued_text(&self, id: Option<&String>) -> String {
        let queue = &self.page.state.queue;
        let is_meant = id.is_none() || queue.edited.as_ref() == id;
        queue.edited_text.clone().filter(|_| is_meant).unwrap_or_default()
    }

    fn queued_id(&self, which: usize) -> Option<String> {
        let waiting = &self.page.state.queue.messages;
        Some(waiting.get(which.checked_rem(waiting.len())?)?.id.clone())
    }
}
