//! What the server is still to be told of conversations, in order: one thing at a time for each of them, and only so many
//! at once. Pure.

use std::collections::VecDeque;

use tallybook_protocol::UpdateConversation;
use uuid::Uuid;

/// Requests at once. A browser has six connections to a host, of which streams need some.
const MAX_AT_ONCE: usize = 3;

/// What is to be done to a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Write {
    /// Holds the way back, too.
    Update {
        to: UpdateConversation,
        back: UpdateConversation,
    },
    Delete,
}

/// What waits, and what is under way.
#[derive(Debug, Default)]
pub(super) struct Writes {
    waiting: VecDeque<(Uuid, Write)>,
    running: Vec<(Uuid, Write)>,
}

impl Writes {
    pub(super) fn push(&mut self, uuid: Uuid, write: Write) {
        self.waiting.push_back((uuid, write));
    }

    /// What can be done now.
    pub(super) fn next(&mut self) -> Option<(Uuid, Write)> {
        if self.running.len() >= MAX_AT_ONCE {
            return None;
        }
        let at = self.waiting.iter().position(|(uuid, _)| self.running.iter().all(|(other, _)| other != uuid))?;
        let next = self.waiting.remove(at)?;
        self.running.push(next.clone());
        Some(next)
    }

    /// One came to its end, well or not. False when there is something later that decides how the conversation is.
    pub(super) fn end(&mut self, uuid: Uuid) -> bool {
        self.running.retain(|(other, _)| *other != uuid);
        self.waiting.iter().all(|(other, _)| *other != uuid)
    }

    /// What the server may not know yet, in order.
    pub(super) fn pending(&self) -> Vec<(Uuid, UpdateConversation)> {
        let updates = self.running.iter().chain(&self.waiting).filter_map(|(uuid, write)| match write {
            Write::Update { to, .. } => Some((*uuid, to.clone())),
            Write::Delete => None,
        });
        updates.collect()
    }

    /// All that waits, of which nothing is known here any more.
    pub(super) fn take(&mut self) -> VecDeque<(Uuid, Write)> {
        std::mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_AT_ONCE, Uuid, Write, Writes};

    #[test]
    fn only_so_many_at_once_and_one_after_the_other_for_each_conversation() {
        let mut writes = Writes::default();
        let [same, last] = [Uuid::from_u128(0), Uuid::from_u128(99)];
        writes.push(same, Write::Delete);
        writes.push(same, Write::Delete);
        for other in 1..MAX_AT_ONCE as u128 {
            writes.push(Uuid::from_u128(other), Write::Delete);
        }
        writes.push(last, Write::Delete);
        let begun: Vec<_> = std::iter::from_fn(|| writes.next()).map(|(uuid, _)| uuid.as_u128()).collect();
        assert_eq!(begun, (0..MAX_AT_ONCE as u128).collect::<Vec<_>>());
        assert!(!writes.end(same), "what comes later decides");
        assert_eq!(writes.next(), Some((same, Write::Delete)));
        assert!(writes.end(same));
        assert_eq!(writes.take().len(), 1);
        assert_eq!(writes.next(), None);
    }
}
