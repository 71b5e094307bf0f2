//! Changes to conversations that are sent to the server in order: one at a time for each conversation, and a limited number
//! in all. Also keeps completed changes until the list is loaded again, because a response to an earlier request lacks them.

use std::collections::VecDeque;

use tallybook_protocol::UpdateConversation;
use uuid::Uuid;

/// Maximum number of concurrent requests. A browser has six connections to a host, and streams need some of them.
const MAX_AT_ONCE: usize = 3;

/// A change to a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Write {
    /// An update, and the update that undoes it.
    Update {
        to: UpdateConversation,
        back: UpdateConversation,
    },
    Delete,
}

/// Changes that wait, that are being sent, and that were completed since the list was last requested. Also the conversations
/// with a reported state that may be older than these changes.
#[derive(Debug, Default)]
pub(super) struct Writes {
    waiting: VecDeque<(Uuid, Write)>,
    running: Vec<(Uuid, Write)>,
    done: Vec<(Uuid, UpdateConversation)>,
    doubted: Vec<Uuid>,
}

/// The completed changes and doubted conversations at the time of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Open {
    done: usize,
    /// Conversations with a reported state that may be outdated.
    pub(super) doubted: Vec<Uuid>,
}

impl Writes {
    pub(super) fn push(&mut self, uuid: Uuid, write: Write) {
        self.waiting.push_back((uuid, write));
    }

    /// Returns the next change to send.
    pub(super) fn next(&mut self) -> Option<(Uuid, Write)> {
        if self.running.len() >= MAX_AT_ONCE {
            return None;
        }
        let at = self.waiting.iter().position(|(uuid, _)| self.running.iter().all(|(other, _)| other != uuid))?;
        let next = self.waiting.remove(at)?;
        self.running.push(next.clone());
        Some(next)
    }

    /// Ends a change, successfully or not. Returns `false` if a later change of the conversation waits.
    pub(super) fn end(&mut self, uuid: Uuid, is_done: bool) -> bool {
        if let Some(at) = self.running.iter().position(|(other, _)| *other == uuid)
            && let (_, Write::Update { to, .. }) = self.running.remove(at)
            && is_done
        {
            self.done.push((uuid, to));
        }
        self.waiting.iter().all(|(other, _)| *other != uuid)
    }

    /// Returns the updates that a response of the server may lack, in order.
    pub(super) fn pending(&self) -> Vec<(Uuid, UpdateConversation)> {
        let updates = self.running.iter().chain(&self.waiting).filter_map(|(uuid, write)| match write {
            Write::Update { to, .. } => Some((*uuid, to.clone())),
            Write::Delete => None,
        });
        self.done.iter().cloned().chain(updates).collect()
    }

    /// Records that a state of a conversation was reported. Returns `true` if that may be older than a change made here. Then
    /// the state is ignored, and the conversation is loaded again.
    pub(super) fn doubt(&mut self, uuid: Uuid) -> bool {
        let told = self.running.iter().chain(&self.waiting).map(|(other, _)| other);
        let is_doubtful = self.done.iter().map(|(other, _)| other).chain(told).any(|other| *other == uuid);
        if is_doubtful && !self.doubted.contains(&uuid) {
            self.doubted.push(uuid);
        }
        is_doubtful
    }

    /// Returns what the response to a request that is sent now settles, for [`Self::settle`].
    pub(super) fn open(&self) -> Open {
        Open { done: self.done.len(), doubted: self.doubted.clone() }
    }

    /// Removes what a loaded list settles.
    pub(super) fn settle(&mut self, open: &Open) {
        self.done.drain(..open.done.min(self.done.len()));
        self.doubted.retain(|uuid| !open.doubted.contains(uuid));
    }

    /// Removes and returns all waiting changes.
    pub(super) fn take(&mut self) -> VecDeque<(Uuid, Write)> {
        std::mem::take(&mut self.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_AT_ONCE, UpdateConversation, Uuid, Write, Writes};

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
        assert!(!writes.end(same, true), "a later change waits");
        assert_eq!(writes.next(), Some((same, Write::Delete)));
        assert!(writes.end(same, true));
        assert_eq!(writes.take().len(), 1);
        assert_eq!(writes.next(), None);
    }

    #[test]
    fn what_was_done_counts_until_the_list_was_read_after_it() {
        let mut writes = Writes::default();
        let uuid = Uuid::from_u128(1);
        let archived = |archived| UpdateConversation { archived: Some(archived), ..UpdateConversation::default() };
        let done = |writes: &mut Writes, to: bool, is_done: bool| {
            writes.push(uuid, Write::Update { to: archived(to), back: archived(!to) });
            assert!(writes.next().is_some());
            writes.end(uuid, is_done);
        };
        done(&mut writes, true, true);
        assert!(writes.doubt(uuid) && !writes.doubt(Uuid::from_u128(2)));
        let asked = writes.open();
        assert_eq!(asked.doubted, [uuid]);
        done(&mut writes, false, true);
        done(&mut writes, true, false);
        assert_eq!(writes.pending(), [(uuid, archived(true)), (uuid, archived(false))], "a refused change is not kept");
        writes.settle(&asked);
        assert_eq!(writes.pending(), [(uuid, archived(false))]);
        assert!(writes.open().doubted.is_empty());
        assert!(writes.doubt(uuid), "a change was made since the request");
        writes.settle(&writes.open());
        assert!(!writes.doubt(uuid));
    }
}
