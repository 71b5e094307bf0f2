//! Messages that are sent while an answer is being written. The first goes when the answer has ended well; after any other
//! end, and when it could not be sent, the queue waits for its reader's word.

use super::super::{
    effect::Effect,
    queue::{MAX_QUEUED, Queue, Queued},
    shown::Phase,
    state::{State, joined},
    unsent::Sent,
};

impl State {
    /// Takes what was kept of messages that waited when the page was last there.
    pub(crate) fn restore_queue(&mut self, mut queue: Queue) {
        if std::mem::take(&mut queue.is_sending) {
            // Nobody heard whether it arrived.
            let last = self.failed.take().and_then(|sent| sent.last);
            self.failed = queue.messages.first().map(|first| Sent { message: first.to_message(), last });
        }
        queue.waits = !self.transcript.runs();
        self.queue = queue;
        self.drop_what_was_stored();
    }

    /// Sends what is in the message field, or has it wait for the end of the answer. It stays there when neither can be.
    pub(super) fn send_draft(&mut self, id: String, out: &mut Vec<Effect>) {
        let draft = std::mem::take(&mut self.draft);
        let is_taken = match self.phase() {
            Phase::Idle => self.post(&draft, None, id, out),
            _ => self.enqueue(&draft, id),
        };
        if !is_taken {
            self.draft = draft;
        }
    }

    /// Puts what is in the message field behind what waits. False when that cannot be.
    fn enqueue(&mut self, content: &str, id: String) -> bool {
        let content = content.trim();
        if content.is_empty() || !self.takes_messages() {
            return false;
        }
        if self.queue.messages.len() >= MAX_QUEUED {
            self.notice = Some(self.text.queue_is_full(MAX_QUEUED));
            return false;
        }
        let (text, model, mode) = (content.to_owned(), self.next_model.take(), self.take_mode());
        if self.queue.messages.is_empty() {
            // What waited before is gone, and nothing has gone wrong with this one.
            self.queue.waits = false;
        }
        self.queue.messages.push(Queued { id, text, model, mode });
        true
    }

    /// Takes a message out that waits; one that is on its way is not waiting.
    pub(super) fn unqueue(&mut self, id: &str) {
        if !self.is_on_its_way(id) {
            self.queue.remove(id);
        }
    }

    /// Begins to change a message that waits, or leaves it as it is.
    pub(super) fn edit_queued(&mut self, id: Option<String>) {
        self.queue.edited = id.filter(|id| !self.is_on_its_way(id));
        self.queue.edited_text = None;
    }

    /// Takes what is in the field of the message that is being changed.
    pub(super) fn write_queued(&mut self, text: String) {
        self.queue.edited_text = Some(text).filter(|_| self.queue.edited.is_some());
    }

    /// Changes the message that was being changed. It is another message then: the one before may have been stored, of
    /// which nobody heard.
    pub(super) fn change_queued(&mut self, text: &str, new_id: String) {
        self.queue.edited_text = None;
        let (Some(id), text) = (self.queue.edited.take(), text.trim()) else { return };
        let queued = self.queue.messages.iter_mut().find(|queued| queued.id == id);
        if let Some(queued) = queued.filter(|queued| !text.is_empty() && queued.text != text) {
            *queued = Queued { id: new_id, text: text.to_owned(), model: queued.model.take(), mode: queued.mode };
        }
    }

    fn is_on_its_way(&self, id: &str) -> bool {
        self.queue.is_sending && self.queue.messages.first().is_some_and(|first| first.id == id)
    }

    /// Sends what waits, whatever became of the last answer.
    pub(super) fn send_now(&mut self, out: &mut Vec<Effect>) {
        if self.phase() == Phase::Idle {
            (self.queue.waits, self.queue.is_held) = (false, false);
            self.send_first(out);
        }
    }

    /// Sends the next message that waits, if the last answer has ended well.
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

    /// The conversation is gone: what waits goes on as a draft.
    pub(super) fn queue_into_draft(&mut self) {
        let Queue { messages, edited, edited_text, .. } = std::mem::take(&mut self.queue);
        let text = |queued: Queued| match &edited_text {
            Some(text) if edited.as_ref() == Some(&queued.id) => text.clone(),
            _ => queued.text,
        };
        let texts: Vec<_> = messages.into_iter().map(text).collect();
        self.draft = joined(&texts.join("\n"), &self.draft);
    }
}
