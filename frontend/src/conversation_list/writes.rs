//! Queue of conversation updates: ordered, with one request at a time per conversation and a limit for all. Also
//! remembers completed updates until the list is loaded again, because an older list response does not contain them.
//! Does not use the browser.

use std::collections::VecDeque;

use tallybook_protocol::UpdateConversation;
use uuid::Uuid;

/// Maximum number of requests at once. A browser has six connections to a host, and streams need some of these.
const MAX_AT_ONCE: usize = 3;

/// A change of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Write {
    /// Changes fields. `back` has their previous values.
    Update {
        to: UpdateConversation,
        back: UpdateConversation,
    },
    Delete,
}

/// Waiting and running changes, and those that were completed since the list was last requested. `doubted` has
/// conversations with an event that may be older than these changes.
#[derive(Debug, Default)]
pub(super) struct Writes {
    waiting: VecDeque<(Uuid, Write)>,
    running: Vec<(Uuid, Write)>,
    done: Vec<(Uuid, UpdateConversation)>,
    doubted: Vec<Uuid>,
}

/// The completed changes and doubted conversations at the time of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpenWrites {
    done: usize,
    /// Conversations with an event that may be outdated.
    pub(super) doubted: Vec<Uuid>,
}

impl Writes {
    pub(super) fn push(&mut self, uuid: Uuid, write: Write) {
        self.waiting.push_back((uuid, write));
    }

    /// Removes the changes that are not sent yet.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Returns the next change that can be sent now.
    pub(super) fn next(&mut self) -> Option<(Uuid, Write)> {
        if self.running.len() >= MAX_AT_ONCE {
            return None;
        }
        let at = self.waiting.iter().position(|(uuid, _)| self.running.iter().all(|(other, _)| other != uuid))?;
        let next = self.waiting.remove(at)?;
        self.running.push(next.clone());
        Some(next)
    }

    /// Ends a change, successful or not. Returns `false` if a later change of the conversation waits.
    pub(super) fn end(&mut self, uuid: Uuid, is_done: bool) -> bool {
        if let Some(at) = self.running.iter().position(|(other, _)| *other == uuid)
            && let (_, Write::Update { to, .. }) = self.running.remove(at)
            && is_done
        {
            self.done.push((uuid, to));
        }
        self.waiting.iter().all(|(other, _)| *other != uuid)
    }

    /// Returns the updates that a response of the server may not contain yet, in order.
    pub(super) fn pending(&self) -> Vec<(Uuid, UpdateConversation)> {
        let updates = self.running.iter().chain(&self.waiting).filter_map(|(uuid, write)| match write {
            Write::Update { to, .. } => Some((*uuid, to.clone())),
            Write::Delete => None,
        });
        self.done.iter().cloned().chain(updates).collect()
    }

    /// Handles an event about a conversation. Returns `true` if the event may be older than a change that was made
    /// here. Then the event must be ignored, and the conversation must be loaded instead.
    pub(super) fn doubt(&mut self, uuid: Uuid) -> bool {
        let unfinished = self.running.iter().chain(&self.waiting).map(|(other, _)| other);
        let is_doubtful = self.done.iter().map(|(other, _)| other).chain(unfinished).any(|other| *other == uuid);
        if is_doubtful && !self.doubted.contains(&uuid) {
            self.doubted.push(uuid);
        }
        is_doubtful
    }

    /// Returns what the response to a request sent now will settle, for [`Self::settle`].
    pub(super) fn open(&self) -> OpenWrites {
        OpenWrites { done: self.done.len(), doubted: self.doubted.clone() }
    }

    /// Forgets what a list response has settled.
    pub(super) fn settle(&mut self, open: &OpenWrites) {
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
    fn requests_are_limited_and_sequential_for_each_conversation() {
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
    fn completed_changes_are_remembered_until_the_list_is_loaded_again() {
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
        assert_eq!(
            writes.pending(),
            [(uuid, archived(true)), (uuid, archived(false))],
            "a refused change is not remembered"
        );
        writes.settle(&asked);
        assert_eq!(writes.pending(), [(uuid, archived(false))]);
        assert!(writes.open().doubted.is_empty());
        assert!(writes.doubt(uuid), "a later change was completed since");
        writes.settle(&writes.open());
        assert!(!writes.doubt(uuid));
    }
}
