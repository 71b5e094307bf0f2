//! Changes that another tab has made to what is kept of this conversation.

use super::super::{queue::Queue, shown::Phase, state::State, storage::Elsewhere};

impl State {
    /// Takes over a change of another tab. What is under way here stays.
    pub(super) fn change_elsewhere(&mut self, change: Elsewhere) {
        match change {
            Elsewhere::Draft(text) if self.unstored.is_none() => self.draft = text,
            Elsewhere::Draft(_) => {}
            Elsewhere::Queue(queue) if self.queue.edited.is_none() => self.take_queue(queue),
            Elsewhere::Queue(_) => {}
        }
    }

    fn take_queue(&mut self, queue: Queue) {
        let own = std::mem::take(&mut self.queue);
        let first = own.messages.into_iter().next().filter(|_| own.is_sending);
        let mut others = queue.messages;
        others.retain(|queued| first.as_ref().is_none_or(|first| first.id != queued.id));
        let messages = first.into_iter().chain(others).collect();
        // A tab in which nothing runs may not have heard yet of the turn that these wait for.
        let waits = own.waits || self.phase() == Phase::Idle;
        self.queue = Queue { messages, is_sending: own.is_sending, is_held: queue.is_held, waits, ..Queue::default() };
    }
}
