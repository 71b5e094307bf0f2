//! Files and choices of the message field, and changes of the unsent texts in other tabs.

use super::*;
use crate::session::{
    files::{AttachedFile, FilesOf, Upload, message_file},
    storage::Elsewhere,
};

/// Returns the file with this number as the message field has it.
fn attached(number: u128) -> AttachedFile {
    AttachedFile::new(key(number), format!("{number}.png"), 5)
}

/// Returns the file with this number once it is uploaded.
fn uploaded(number: u128) -> AttachedFile {
    AttachedFile { upload: Upload::Ready(message_file(files::stored(number))), ..attached(number) }
}

fn key(number: u128) -> String {
    format!("file {number}")
}

fn number_of(key: &str) -> Option<u128> {
    key.strip_prefix("file ")?.parse().ok()
}

/// Returns the server's response to an upload.
pub(super) fn upload(key: &str) -> Result<FileInfo, ApiError> {
    number_of(key).map(files::stored).ok_or(refused(404))
}

impl World {
    /// Returns `true` if the page or the server has this text.
    pub(super) fn has_text(&self, typed: &str) -> bool {
        let state = &self.page.state;
        let is_stored = self.server.messages.iter().any(|message| message.text.contains(typed));
        let edited = state.edited.as_ref().map(|edited| edited.text.as_str());
        let unstored = state.unstored.as_ref().map(|message| message.content.as_str());
        let queued = state.queue.messages.iter().map(|queued| queued.text.as_str());
        let fields = [Some(state.draft.as_str()), unstored, edited, state.queue.edited_text.as_deref()];
        is_stored || queued.chain(fields.into_iter().flatten()).any(|text| text.contains(typed))
    }

    /// Returns `true` if a message or a field has this file.
    pub(super) fn has_file(&self, id: Uuid) -> bool {
        let state = &self.page.state;
        let stored = self.server.messages.iter().flat_map(|message| &message.files);
        let queued = state.queue.messages.iter().flat_map(|queued| &queued.files);
        let unstored = state.unstored.iter().flat_map(|message| &message.files);
        let mut sent = stored.chain(queued).chain(unstored);
        let edited = state.edited.iter().flat_map(|edited| &edited.files);
        state.files.iter().chain(edited).any(|file| id_of(file) == Some(id)) || sent.any(|file| file.id == id)
    }

    /// Feeds an input with which the user, here or in another tab, gives up a text and files.
    pub(super) fn give_up(&mut self, input: Input, text: &str, files: &[Uuid]) {
        let (typed, attached) = (std::mem::take(&mut self.typed), std::mem::take(&mut self.attached));
        self.feed(input);
        let is_text = |typed: &String| !text.contains(typed.as_str()) || self.has_text(typed);
        let typed = typed.into_iter().filter(is_text).collect();
        let attached = attached.into_iter().filter(|id| !files.contains(id) || self.has_file(*id)).collect();
        (self.typed, self.attached) = (typed, attached);
        self.check();
    }

    fn new_file(&mut self) -> u128 {
        self.last_file += 1;
        self.last_file
    }

    /// Expects the file from now on, if it was accepted.
    fn expect_file(&mut self, number: u128) {
        let id = Uuid::from_u128(number);
        if self.has_file(id) {
            self.attached.push(id);
        }
    }

    /// Changes the files and choices of the message field.
    pub(super) fn change_field(&mut self, happening: Happening) {
        let files = &self.page.state.files;
        let file = |which: usize| which.checked_rem(files.len()).map(|at| files[at].clone());
        match happening {
            Happening::Attach => {
                let number = self.new_file();
                self.feed(Input::User(Action::Attach(FilesOf::Draft, vec![attached(number)])));
                self.expect_file(number);
            }
            Happening::RemoveFile(which) => {
                let Some(file) = file(which) else { return };
                let id: Vec<_> = id_of(&file).into_iter().collect();
                self.give_up(Input::User(Action::RemoveFile(FilesOf::Draft, file.key)), "", &id);
            }
            Happening::RetryUpload(which) => {
                let Some(file) = file(which) else { return };
                self.feed(Input::User(Action::RetryUpload(file.key)));
            }
            Happening::ChooseNext(is_other) => {
                self.feed(Input::User(Action::ChooseNext(is_other.then(|| "other".to_owned()))));
            }
            Happening::PlanFirst(plans_first) => self.feed(Input::User(Action::PlanFirst(plans_first))),
            _ => {}
        }
    }

    /// Text and a file are left in the field of the new chat.
    pub(super) fn write_for_new_chat(&mut self) {
        if self.page.state.place != Place::NewChat {
            self.last_typed += 1;
            let number = self.new_file();
            self.for_new_chat = Some((format!("<{}>", self.last_typed), number));
        }
    }

    /// Reports the text and the file that wait in the field of the new chat.
    pub(super) fn adopt_draft(&mut self) {
        let (text, number) = self.for_new_chat.take().unzip();
        let files = number.map(uploaded).into_iter().collect();
        self.feed(Input::Adopted(text.clone().unwrap_or_default(), files));
        self.typed.extend(text);
        self.attached.extend(number.map(Uuid::from_u128));
        self.check();
    }

    /// Another tab with this conversation changes the unsent texts that all tabs share.
    pub(super) fn other_tab(&mut self, what: usize) {
        let State { draft, mut files, mut queue, .. } = self.page.state.clone();
        (queue.edited, queue.edited_text) = (None, None);
        match what % 6 {
            0 => {
                self.last_typed += 1;
                let typed = format!("<{}>", self.last_typed);
                let text = super::super::super::state::joined(&draft, &typed);
                self.feed(Input::Elsewhere(Elsewhere::Draft(text)));
                self.typed.extend(Some(typed).filter(|typed| self.has_text(typed)));
            }
            1 => self.give_up(Input::Elsewhere(Elsewhere::Draft(String::new())), &draft, &[]),
            2 => {
                self.last_typed += 1;
                let text = format!("<{}>", self.last_typed);
                self.queued.insert(text.clone(), text.clone());
                queue.messages.extend(
                    queue_of(&[&text]).messages.into_iter().map(|queued| Queued { id: text.clone(), ..queued }),
                );
                self.feed(Input::Elsewhere(Elsewhere::Queue(queue)));
                self.typed.extend(Some(text).filter(|typed| self.has_text(typed)));
            }
            3 => {
                let Some(removed) = queue.messages.pop() else { return };
                let files: Vec<_> = removed.files.iter().map(|file| file.id).collect();
                self.give_up(Input::Elsewhere(Elsewhere::Queue(queue)), &removed.text, &files);
            }
            4 => {
                let number = self.new_file();
                files.push(uploaded(number));
                self.feed(Input::Elsewhere(Elsewhere::Files(files)));
                self.expect_file(number);
            }
            _ => {
                let Some(removed) = files.pop() else { return };
                let id: Vec<_> = id_of(&removed).into_iter().collect();
                self.give_up(Input::Elsewhere(Elsewhere::Files(files)), "", &id);
            }
        }
    }
}

/// Returns the ID that a file of the field has at the server, or will have.
pub(super) fn id_of(file: &AttachedFile) -> Option<Uuid> {
    file.ready().map(|file| file.id).or_else(|| number_of(&file.key).map(Uuid::from_u128))
}
