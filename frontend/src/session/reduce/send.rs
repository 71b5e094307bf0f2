//! Sending: messages, edited questions, and the queue of messages that wait for the end of an answer. Whatever cannot
//! be sent returns to the field where it was typed.

use std::sync::Arc;

use tallybook_protocol::{AnswerMode, MessageFile, MessageId};
use uuid::Uuid;

use super::super::{
    connection::{Connection, Event, Scope, Starting},
    effect::{Effect, Request},
    files::{AttachedFile, joined_files, missing_file, ready_files},
    input::Creation,
    queue::{MAX_QUEUED, Queue, Queued},
    shown::{Edited, Phase, Place},
    state::{State, joined},
    storage::Elsewhere,
    unsent::{Sent, UnsentMessage},
};
use crate::{api::ApiError, transcript::Entry};

/// Sending a message.
impl State {
    /// Sends the text and files of the message field, or queues them while an answer is being written. If neither is
    /// possible, they stay in the field.
    pub(super) fn send_draft(&mut self, id: String, out: &mut Vec<Effect>) {
        let Some(files) = self.files_to_send(&id) else { return };
        let (draft, attached) = (std::mem::take(&mut self.draft), std::mem::take(&mut self.files));
        let is_taken = match self.phase() {
            Phase::Idle => self.post(&draft, files, None, id, out),
            _ => self.enqueue(&draft, files, id),
        };
        if !is_taken {
            (self.draft, self.files) = (draft, attached);
        }
    }

    /// Sends a text and files as a message, or as another version of `edit_of`. Returns `false` if that is not
    /// possible: while a turn runs, if there is neither text nor a file, or if this place accepts no messages.
    pub(super) fn post(
        &mut self,
        content: &str,
        files: Vec<MessageFile>,
        edit_of: Option<MessageId>,
        id: String,
        out: &mut Vec<Effect>,
    ) -> bool {
        let content = content.trim();
        if (content.is_empty() && files.is_empty()) || self.phase() != Phase::Idle || !self.takes_messages() {
            return false;
        }
        if edit_of.is_some() {
            self.edited = None;
        }
        self.queue.hold_back();
        let message = self.new_message(content, files, edit_of, id);
        self.post_message(message, out);
        true
    }

    /// Returns the message to send. If the last message with this content and these files failed, it is the same one,
    /// so that the server stores it only once. A new message takes the model and mode that were chosen for it.
    fn new_message(
        &mut self,
        content: &str,
        files: Vec<MessageFile>,
        edit_of: Option<MessageId>,
        id: String,
    ) -> UnsentMessage {
        let failed = self.failed.as_ref().map(|failed| &failed.message);
        let same = failed.filter(|failed| failed.says(content, &files) && failed.edit_of == edit_of);
        let message = same.cloned().unwrap_or_else(|| UnsentMessage {
            content: content.to_owned(),
            files,
            client_message_id: Some(id),
            edit_of,
            ..UnsentMessage::default()
        });
        let (model, mode) = match edit_of {
            None => (self.next_model.take(), self.take_mode()),
            // The other version of a planned question is planned, too.
            Some(id) if self.transcript.is_planned(id) => (None, AnswerMode::Plan),
            Some(_) => (None, AnswerMode::React),
        };
        UnsentMessage { model, mode, ..message }
    }

    fn post_message(&mut self, message: UnsentMessage, out: &mut Vec<Effect>) {
        self.awaiting_start = true;
        self.notice = None;
        self.unstored = Some(message.clone());
        self.sent = Some(Sent { message: message.clone(), last: self.transcript.last() });
        match (&self.place, &self.connection) {
            (Place::Open(uuid), Connection::Idle | Connection::Refetching(_)) => self.deliver(*uuid, message, out),
            (Place::NewChat, _) => {
                self.wait_for(Event::Create(message.clone()), Request::Create(message), out);
            }
            // The messages before it are still being loaded.
            _ => self.pending_send = Some(message),
        }
    }

    fn deliver(&mut self, uuid: Uuid, message: UnsentMessage, out: &mut Vec<Effect>) {
        self.sent = Some(Sent { message: message.clone(), last: self.transcript.last() });
        let cut = message.edit_of.map(|id| self.transcript.split_off(id)).unwrap_or_default();
        if !cut.is_empty() {
            out.push(Effect::Draw);
        }
        self.feed_saw_end = false;
        if self.transcript.entries().last().is_some_and(|last| last.status.is_cut_off()) {
            // That answer may have been continued elsewhere before this message is stored, and no event reports it.
            self.refetch_scope = Scope::All;
        }
        let request = Request::Send(uuid, message.clone());
        self.wait_for(Event::Start(Starting::Message { message, cut }), request, out);
    }

    /// Sends the message that waits for the conversation to be loaded, unless a turn runs. Returns `true` if it is
    /// sent.
    pub(super) fn send_pending(&mut self, out: &mut Vec<Effect>) -> bool {
        let (Some(uuid), Some(message)) = (self.uuid(), self.pending_send.take()) else { return false };
        let awaits = self.transcript.awaiting().is_some();
        if self.transcript.runs() || awaits || !self.takes_messages() {
            self.take_back(message);
            let notice = if awaits { self.text.decide_first() } else { self.text.wait_for_answer() };
            self.notice = Some(notice.to_owned());
            return false;
        }
        self.deliver(uuid, message, out);
        true
    }

    /// Puts the message that waits for the conversation to be loaded back into its field.
    pub(super) fn take_back_pending(&mut self) {
        if let Some(message) = self.pending_send.take() {
            self.take_back(message);
        }
    }

    pub(super) fn on_created(
        &mut self,
        created: Result<Creation, ApiError>,
        message: UnsentMessage,
        out: &mut Vec<Effect>,
    ) {
        match created {
            Ok(Creation::Accepted(uuid)) => {
                self.become_conversation(uuid, out);
                self.on_started(Ok(()), Starting::Message { message, cut: Vec::new() }, out);
            }
            // It has an ID, so the server does not store it twice.
            Ok(Creation::Unknown(uuid)) => {
                self.become_conversation(uuid, out);
                self.deliver(uuid, message, out);
            }
            Ok(Creation::Stopped) => {
                self.take_back(message);
                self.rest(out);
            }
            Err(error) => self.on_refused(message, Vec::new(), &error, out),
        }
    }

    fn become_conversation(&mut self, uuid: Uuid, out: &mut Vec<Effect>) {
        self.place = Place::Open(uuid);
        out.push(Effect::ReportCreated(uuid));
    }

    /// Handles the response to a request that starts or resumes a turn.
    pub(super) fn on_started(&mut self, started: Result<(), ApiError>, starting: Starting, out: &mut Vec<Effect>) {
        match (started, starting) {
            (Ok(()), starting) => {
                self.change_connection(Event::Stream);
                // A decision resumes a turn that the queue did not wait for.
                self.queue.waits &= !self.queue.is_sending && starting != Starting::Decide;
                (self.stream.last_event, self.stream.attempt) = (None, 0);
                self.stop_if_wanted(out);
            }
            (Err(error), Starting::Message { message, cut }) => self.on_refused(message, cut, &error, out),
            (Err(error), Starting::Regenerate { cut }) => self.restore(cut, &error, out),
            // Another tab continued the answer first.
            (Err(ApiError::Refused { status: 409, .. }), Starting::Continue) => self.follow(out),
            (Err(error), Starting::Continue | Starting::Decide) => self.restore(Vec::new(), &error, out),
        }
    }

    /// Puts a message that could not be sent back into its field, before anything that was typed since.
    fn on_refused(&mut self, message: UnsentMessage, cut: Vec<Arc<Entry>>, error: &ApiError, out: &mut Vec<Effect>) {
        let last = cut.last().map(|entry| entry.id).or_else(|| self.transcript.last());
        self.failed = Some(Sent { message: message.clone(), last });
        let was_queued = self.queue.is_sending;
        let missing = missing_file(&message.files, error).cloned();
        self.take_back(message);
        self.restore(cut, error, out);
        if let Some(missing) = missing {
            self.mark_missing(&missing);
        }
        if was_queued && matches!(error, ApiError::Refused { status: 409, .. }) {
            // Another tab sent a message first. This one waits for the end of that answer.
            self.notice = None;
        }
    }

    /// Shows the hidden entries again after a request failed. The server may have carried it out all the same.
    pub(super) fn restore(&mut self, cut: Vec<Arc<Entry>>, error: &ApiError, out: &mut Vec<Effect>) {
        self.transcript.restore(cut);
        out.push(Effect::Draw);
        self.notice = Some(error.message(self.text));
        self.is_refetch_due = true;
        self.rest(out);
    }

    /// Takes note that the turn has started, and with it that the sent message is stored.
    pub(super) fn on_turn_started(&mut self) {
        self.awaiting_start = false;
        self.unstored = None;
        self.queue.arrived();
        self.failed = None;
    }

    /// Removes a message that failed to be sent from its field if the conversation shows that it was stored all the
    /// same.
    pub(super) fn drop_stored_message(&mut self) {
        let Some(Sent { message: failed, last }) = &self.failed else { return };
        let is_newer = |entry: &Entry| Some(entry.id) > *last && failed.says(&entry.text, &entry.files);
        if !self.transcript.last_asked().is_some_and(is_newer) {
            return;
        }
        let (edit_of, client_message_id) = (failed.edit_of, failed.client_message_id.clone());
        let (model, mode, files) = (failed.model.clone(), failed.mode, failed.files.clone());
        self.failed = None;
        self.notice = None;
        if client_message_id.is_some_and(|id| self.queue.remove(&id).is_some()) {
            self.queue.waits = false;
        } else if edit_of.is_some() {
            self.edited = self.edited.take().filter(|edited| Some(edited.id) != edit_of);
        } else {
            self.drop_stored_draft();
            let is_stored =
                |file: &AttachedFile| file.ready().is_some_and(|file| files.iter().any(|stored| stored.id == file.id));
            self.files.retain(|file| !is_stored(file));
            // Model and mode were chosen for that message only.
            self.next_model = self.next_model.take().filter(|next| Some(next) != model.as_ref());
            self.plans_first &= mode != AnswerMode::Plan;
        }
    }
}

/// Editing a question in place.
impl State {
    /// Starts editing the user's last message, on behalf of the message field. Does nothing if the field is not empty,
    /// if another message is being edited, or while a turn runs.
    pub(super) fn edit_last(&mut self) {
        let is_empty = self.draft.is_empty() && self.files.is_empty();
        let is_editing = self.edited.is_some() || self.queue.edited.is_some();
        let is_idle = matches!(self.place, Place::Open(_)) && self.phase() == Phase::Idle && !self.is_leaving;
        if !is_empty || is_editing || !is_idle {
            return;
        }
        self.edited = self.transcript.last_asked().map(|last| Edited {
            id: last.id,
            text: last.text.clone(),
            files: last.files.iter().cloned().map(AttachedFile::stored).collect(),
            is_changed: false,
            is_from_field: true,
        });
    }

    pub(super) fn write_edit(&mut self, text: String) {
        if let Some(edited) = &mut self.edited {
            edited.is_changed |= edited.text != text;
            edited.text = text;
        }
    }

    /// Sends another version of a question, once all files of the edit are uploaded.
    pub(super) fn send_edit(&mut self, id: MessageId, content: &str, new_id: String, out: &mut Vec<Effect>) {
        let edited = self.edited.as_ref().filter(|edited| edited.id == id);
        if edited.is_some_and(|edited| edited.files.iter().any(|file| file.ready().is_none())) {
            self.notice = Some(self.text.upload_failed_first().to_owned());
            return;
        }
        let files = self.edited_files(id);
        self.post(content, files, Some(id), new_id, out);
    }

    /// Returns the files of another version of a question: those that the edit kept and added, or all of them.
    fn edited_files(&self, id: MessageId) -> Vec<MessageFile> {
        match &self.edited {
            Some(edited) if edited.id == id => ready_files(&edited.files),
            _ => self.transcript.find(id).map(|entry| entry.files.clone()).unwrap_or_default(),
        }
    }

    /// Moves an edited text to the message field if its question is no longer shown, because another branch is.
    pub(super) fn rescue_edit(&mut self) {
        let Some(edited) = &self.edited else { return };
        let is_cut =
            matches!(self.connection, Connection::Starting(Starting::Message { .. } | Starting::Regenerate { .. }));
        let is_earlier = self.transcript.has_earlier() && self.transcript.first().is_none_or(|first| edited.id < first);
        let is_open = matches!(self.place, Place::Open(_));
        if !is_open || is_cut || is_earlier || self.transcript.find(edited.id).is_some() {
            return;
        }
        if let Some(edited) = self.edited.take().filter(|edited| edited.is_changed) {
            self.draft = joined(&edited.text, &self.draft);
            self.take_files(edited.files);
            self.notice = Some(self.text.edit_moved().to_owned());
        }
    }
}

/// The queue. Its first message is sent when the answer completes. After any other end, and if a message could not be
/// sent, the queue waits for the user.
impl State {
    /// Restores the messages that were queued when the page was last here.
    pub(crate) fn restore_queue(&mut self, mut queue: Queue) {
        if std::mem::take(&mut queue.is_sending) {
            // It is unknown whether the first message arrived.
            let last = self.failed.take().and_then(|sent| sent.last);
            self.failed = queue.messages.first().map(|first| Sent { message: first.to_message(), last });
        }
        queue.waits = !self.transcript.runs();
        self.queue = queue;
        self.drop_stored_message();
    }

    /// Adds a message to the queue. Returns `false` if that is not possible.
    fn enqueue(&mut self, content: &str, files: Vec<MessageFile>, id: String) -> bool {
        let content = content.trim();
        if (content.is_empty() && files.is_empty()) || !self.takes_messages() {
            return false;
        }
        if self.queue.messages.len() >= MAX_QUEUED {
            self.notice = Some(self.text.queue_is_full(MAX_QUEUED));
            return false;
        }
        let (text, model, mode) = (content.to_owned(), self.next_model.take(), self.take_mode());
        if self.queue.messages.is_empty() {
            // The failure concerned messages that are no longer queued.
            self.queue.waits = false;
        }
        self.queue.messages.push(Queued { id, text, files, model, mode });
        true
    }

    /// Removes a message from the queue, unless it is being sent.
    pub(super) fn unqueue(&mut self, id: &str) {
        if !self.is_sending_queued(id) {
            self.queue.remove(id);
        }
    }

    /// Starts editing a queued message; `None` cancels the edit.
    pub(super) fn edit_queued(&mut self, id: Option<String>) {
        self.queue.edited = id.filter(|id| !self.is_sending_queued(id));
        self.queue.edited_text = None;
    }

    pub(super) fn write_queued(&mut self, text: String) {
        self.queue.edited_text = Some(text).filter(|_| self.queue.edited.is_some());
    }

    /// Replaces the queued message that is being edited. It gets a new ID, because the server may have stored the old
    /// text under the old one.
    pub(super) fn change_queued(&mut self, text: &str, new_id: String) {
        self.queue.edited_text = None;
        let (Some(id), text) = (self.queue.edited.take(), text.trim()) else { return };
        let queued = self.queue.messages.iter_mut().find(|queued| queued.id == id);
        let is_message = |queued: &Queued| !text.is_empty() || !queued.files.is_empty();
        if let Some(queued) = queued.filter(|queued| is_message(queued) && queued.text != text) {
            (queued.id, queued.text) = (new_id, text.to_owned());
        }
    }

    fn is_sending_queued(&self, id: &str) -> bool {
        self.queue.is_sending && self.queue.messages.first().is_some_and(|first| first.id == id)
    }

    /// Sends the queue, no matter how the last answer ended.
    pub(super) fn send_now(&mut self, out: &mut Vec<Effect>) {
        if self.phase() == Phase::Idle {
            (self.queue.waits, self.queue.is_held) = (false, false);
            self.send_first(out);
        }
    }

    /// Sends the next queued message if the last answer has completed.
    pub(super) fn send_next(&mut self, out: &mut Vec<Effect>) {
        if !self.queue.waits && !self.queue.is_held && self.at_rest().is_some() && self.transcript.is_answered() {
            self.send_first(out);
        }
    }

    fn send_first(&mut self, out: &mut Vec<Effect>) {
        let Some(message) = self.queue.next().map(Queued::to_message) else { return };
        if self.takes_messages() {
            self.queue.is_sending = true;
            self.post_message(message, out);
        }
    }

    /// Moves the queue to the draft, because the conversation is gone.
    pub(super) fn queue_into_draft(&mut self) {
        let Queue { messages, edited, edited_text, .. } = std::mem::take(&mut self.queue);
        let text = |queued: &Queued| match &edited_text {
            Some(text) if edited.as_ref() == Some(&queued.id) => text.clone(),
            _ => queued.text.clone(),
        };
        let texts: Vec<_> = messages.iter().map(text).filter(|text| !text.is_empty()).collect();
        self.draft = joined(&texts.join("\n"), &self.draft);
        let files = messages.into_iter().flat_map(|queued| queued.files).collect();
        self.files = joined_files(files, &self.files);
    }

    /// Adopts a change that another tab made to the unsent texts, unless the same text is being sent or edited here.
    pub(super) fn on_other_tab(&mut self, change: Elsewhere) {
        match change {
            Elsewhere::Draft(text) if self.unstored.is_none() => {
                self.draft = text;
                // The user asked to send another text.
                self.send_after_uploads = None;
            }
            Elsewhere::Queue(queue) if self.queue.edited.is_none() => self.adopt_queue(queue),
            Elsewhere::Files(files)
                if self.unstored.is_none() && !self.files.iter().any(AttachedFile::is_uploading) =>
            {
                // Only this tab can upload its failed files again.
                let failed = std::mem::take(&mut self.files).into_iter().filter(|file| file.ready().is_none());
                self.files = files.into_iter().filter(|file| file.ready().is_some()).chain(failed).collect();
            }
            Elsewhere::Draft(_) | Elsewhere::Files(_) | Elsewhere::Queue(_) => {}
        }
    }

    fn adopt_queue(&mut self, queue: Queue) {
        let own = std::mem::take(&mut self.queue);
        let first = own.messages.into_iter().next().filter(|_| own.is_sending);
        let mut others = queue.messages;
        others.retain(|queued| first.as_ref().is_none_or(|first| first.id != queued.id));
        let messages = first.into_iter().chain(others).collect();
        // If no turn is known here, this tab may not have heard yet of the one that these messages wait for.
        let waits = own.waits || self.phase() == Phase::Idle;
        self.queue = Queue { messages, is_sending: own.is_sending, is_held: queue.is_held, waits, ..Queue::default() };
    }
}
