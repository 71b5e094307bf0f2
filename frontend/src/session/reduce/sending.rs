//! Sending a message: to a conversation that may have to be made first, and back into its field when that failed.

use std::sync::Arc;

use tallybook_protocol::{AnswerMode, MessageId, NewMessage};
use uuid::Uuid;

use super::{
    super::{
        effect::{Effect, Request},
        input::Made,
        reader::{Asked, Reader},
        shown::{Phase, Place},
        state::State,
        unsent::Sent,
    },
    waiting::LOUD,
};
use crate::{api::ApiError, transcript::Entry};

impl State {
    /// Sends a message. Does nothing while a turn runs, when there is no text in it, or where none can be sent, and says
    /// so.
    pub(super) fn post(
        &mut self,
        content: &str,
        edit_of: Option<MessageId>,
        id: String,
        out: &mut Vec<Effect>,
    ) -> bool {
        let content = content.trim();
        if content.is_empty() || self.phase() != Phase::Idle || !self.takes_messages() {
            return false;
        }
        if edit_of.is_some() {
            self.edited = None;
        }
        self.queue.hold_back();
        let message = self.message(content, edit_of, id);
        self.post_message(message, out);
        true
    }

    /// Sends a message from where one can be sent.
    pub(super) fn post_message(&mut self, message: NewMessage, out: &mut Vec<Effect>) {
        self.begins = true;
        self.notice = None;
        self.unstored = Some(message.content.clone());
        self.sent = Some(Sent { message: message.clone(), last: self.transcript.last() });
        match (&self.place, &self.reader) {
            (Place::Open(uuid), Reader::Resting | Reader::Looking(_)) => self.deliver(*uuid, message, out),
            (Place::NewChat, _) => self.read(Reader::Making(message.clone()), Request::Make(message), out),
            // What it will stand below is on its way.
            _ => self.held = Some(message),
        }
    }

    /// The message to send: the one that failed to be sent, when it is the same, so that it is stored once. A new one takes
    /// along the model and the mode that were chosen for it alone.
    fn message(&mut self, content: &str, edit_of: Option<MessageId>, id: String) -> NewMessage {
        let again = self.failed.as_ref().map(|failed| &failed.message);
        let again = again.filter(|failed| failed.content == content && failed.edit_of == edit_of);
        let message = again.cloned().unwrap_or_else(|| NewMessage {
            content: content.to_owned(),
            client_message_id: Some(id),
            edit_of,
            ..NewMessage::default()
        });
        let (model, mode) = match edit_of {
            None => (self.next_model.take(), self.take_mode()),
            // What was planned is planned again.
            Some(id) if self.transcript.is_planned(id) => (None, AnswerMode::Plan),
            Some(_) => (None, AnswerMode::React),
        };
        NewMessage { model, mode, ..message }
    }

    fn deliver(&mut self, uuid: Uuid, message: NewMessage, out: &mut Vec<Effect>) {
        self.sent = Some(Sent { message: message.clone(), last: self.transcript.last() });
        let cut = message.edit_of.map(|id| self.transcript.split_off(id)).unwrap_or_default();
        if !cut.is_empty() {
            out.push(Effect::Draw);
        }
        self.feed_told_end = false;
        // An answer that was cut off may have gone on elsewhere before this message comes below it, and nothing tells so.
        self.is_all_stale |= self.transcript.entries().last().is_some_and(|last| last.status.is_cut_off());
        let request = Request::Send(uuid, message.clone());
        self.read(Reader::Asking(Asked::Message { message, cut }), request, out);
    }

    /// Sends what waited for what is shown to be certain, unless a turn runs now.
    pub(super) fn deliver_held(&mut self, out: &mut Vec<Effect>) -> bool {
        let (Some(uuid), Some(message)) = (self.uuid(), self.held.take()) else { return false };
        let awaits = self.transcript.awaiting().is_some();
        if self.transcript.runs() || awaits || !self.takes_messages() {
            self.take_back(message);
            let words = if awaits { self.text.decide_first() } else { self.text.wait_for_answer() };
            self.notice = Some(words.to_owned());
            return false;
        }
        self.deliver(uuid, message, out);
        true
    }

    pub(super) fn made(&mut self, made: Result<Made, ApiError>, message: NewMessage, out: &mut Vec<Effect>) {
        match made {
            Ok(Made::Taken(uuid)) => {
                self.become_conversation(uuid, out);
                self.opened(Ok(()), Asked::Message { message, cut: Vec::new() }, out);
            }
            // Sent again it is the same message.
            Ok(Made::Unknown(uuid)) => {
                self.become_conversation(uuid, out);
                self.deliver(uuid, message, out);
            }
            Ok(Made::Stopped) => {
                self.take_back(message);
                self.rest(out);
            }
            Err(error) => self.give_back(message, Vec::new(), &error, out),
        }
    }

    fn become_conversation(&mut self, uuid: Uuid, out: &mut Vec<Effect>) {
        self.place = Place::Open(uuid);
        out.push(Effect::Became(uuid));
    }

    /// The server has taken what was asked of it, or not.
    pub(super) fn opened(&mut self, opened: Result<(), ApiError>, asked: Asked, out: &mut Vec<Effect>) {
        match (opened, asked) {
            (Ok(()), asked) => {
                self.reader = Reader::Streaming;
                // Other turns that begin here leave alone what waits for its reader.
                self.queue.waits &= !self.queue.is_sending && asked != Asked::Decide;
                self.last_event = None;
                self.attempt = 0;
                self.stop_if_wanted(out);
            }
            (Err(error), Asked::Message { message, cut }) => self.give_back(message, cut, &error, out),
            (Err(error), Asked::Regenerate { cut }) => self.restore(cut, &error, out),
            // Another tab was quicker.
            (Err(ApiError::Refused { status: 409, .. }), Asked::Continue) => self.look(LOUD, out),
            (Err(error), Asked::Continue | Asked::Decide) => self.restore(Vec::new(), &error, out),
        }
    }

    /// What was typed goes back to where it was typed; what has been written meanwhile stays below it.
    fn give_back(&mut self, message: NewMessage, cut: Vec<Arc<Entry>>, error: &ApiError, out: &mut Vec<Effect>) {
        let last = cut.last().map(|entry| entry.id).or_else(|| self.transcript.last());
        self.failed = Some(Sent { message: message.clone(), last });
        let has_waited = self.queue.is_sending;
        self.take_back(message);
        self.restore(cut, error, out);
        if has_waited && matches!(error, ApiError::Refused { status: 409, .. }) {
            // Another tab was quicker: it waits for the end of that answer.
            self.notice = None;
        }
    }

    /// Nothing came of what was asked for: what was there is there again. It may have come through all the same.
    pub(super) fn restore(&mut self, cut: Vec<Arc<Entry>>, error: &ApiError, out: &mut Vec<Effect>) {
        self.transcript.restore(cut);
        out.push(Effect::Draw);
        self.notice = Some(error.message(self.text));
        self.is_stale = true;
        self.rest(out);
    }

    /// A message that failed to be sent is stored after all, as its conversation shows: it is in no field any more.
    pub(super) fn drop_what_was_stored(&mut self) {
        let Some(Sent { message: failed, last }) = &self.failed else { return };
        let is_newer = |entry: &Entry| Some(entry.id) > *last && entry.text == failed.content;
        if !self.transcript.last_asked().is_some_and(is_newer) {
            return;
        }
        let (edit_of, client_message_id) = (failed.edit_of, failed.client_message_id.clone());
        let (model, mode) = (failed.model.clone(), failed.mode);
        self.failed = None;
        self.notice = None;
        if client_message_id.is_some_and(|id| self.queue.remove(&id).is_some()) {
            self.queue.waits = false;
        } else if edit_of.is_some() {
            self.edited = self.edited.take().filter(|edited| Some(edited.id) != edit_of);
        } else {
            self.drop_stored_draft();
            // Both were for that message alone.
            self.next_model = self.next_model.take().filter(|next| Some(next) != model.as_ref());
            self.plans_first &= mode != AnswerMode::Plan;
        }
    }
}
