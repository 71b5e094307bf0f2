//! Actions that can be undone for a short time: archived conversations, and deletions that were not sent to the server
//! yet. Does not use the browser.

use tallybook_protocol::ConversationSummary;
use uuid::Uuid;

/// An action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UndoableAction {
    Archived,
    Unarchived,
    /// Sent to the server when it can no longer be undone.
    Deleted,
}

/// Conversations of one action, which is undone for all of them together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) number: u32,
    pub(crate) action: UndoableAction,
    /// Their states before the action.
    pub(crate) conversations: Vec<ConversationSummary>,
}

/// All actions that can be undone. Each batch has its own number and its own time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Undo {
    batches: Vec<Batch>,
    last: u32,
    /// Deletions that can no longer be undone, and are not completed on the server.
    deleting: Vec<Uuid>,
}

impl Undo {
    /// Starts the time of a batch, and returns its number. A conversation is only in the last batch that contains it.
    pub(super) fn begin(&mut self, action: UndoableAction, conversations: Vec<ConversationSummary>) -> u32 {
        self.last = self.last.wrapping_add(1);
        for batch in &mut self.batches {
            batch.conversations.retain(|item| conversations.iter().all(|other| other.uuid != item.uuid));
        }
        self.batches.retain(|batch| !batch.conversations.is_empty());
        self.batches.push(Batch { number: self.last, action, conversations });
        self.last
    }

    /// Removes all batches and deletions.
    pub(super) fn clear(&mut self) {
        self.batches.clear();
        self.deleting.clear();
    }

    /// Removes a batch; `None` if it was already undone.
    pub(super) fn take(&mut self, number: u32) -> Option<Batch> {
        let at = self.batches.iter().position(|batch| batch.number == number)?;
        Some(self.batches.remove(at))
    }

    /// Removes a batch whose time is over; `None` if it was undone. Its deletions count as running until [`Self::end`].
    pub(super) fn take_due(&mut self, number: u32) -> Option<Batch> {
        let batch = self.take(number)?;
        if batch.action == UndoableAction::Deleted {
            self.deleting.extend(batch.conversations.iter().map(|item| item.uuid));
        }
        Some(batch)
    }

    /// Removes all deletions that could still be undone, and returns their conversations.
    pub(super) fn take_deletions(&mut self) -> Vec<Uuid> {
        let (deletions, others) =
            std::mem::take(&mut self.batches).into_iter().partition(|batch| batch.action == UndoableAction::Deleted);
        self.batches = others;
        let deletions: Vec<Batch> = deletions;
        deletions.into_iter().flat_map(|batch| batch.conversations).map(|item| item.uuid).collect()
    }

    /// Ends a deletion, successful or not.
    pub(super) fn end(&mut self, uuid: Uuid) {
        self.deleting.retain(|other| *other != uuid);
    }

    /// Returns `true` if a conversation is deleted here, but perhaps not yet on the server.
    pub(super) fn is_deleting(&self, uuid: Uuid) -> bool {
        let batches = self.batches.iter().filter(|batch| batch.action == UndoableAction::Deleted);
        self.deleting.contains(&uuid) || batches.flat_map(|batch| &batch.conversations).any(|item| item.uuid == uuid)
    }

    /// Returns the batches that can be undone, oldest first.
    pub(super) fn batches(&self) -> &[Batch] {
        &self.batches
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::{ConversationSummary, Undo, UndoableAction, Uuid};

    fn item(uuid: u128) -> ConversationSummary {
        let at = DateTime::UNIX_EPOCH;
        let (title, uuid) = ("Sums".to_owned(), Uuid::from_u128(uuid));
        ConversationSummary {
            uuid,
            title,
            running: false,
            awaiting_approval: false,
            pinned: false,
            archived: false,
            model: None,
            created_at: at,
            updated_at: at,
        }
    }

    #[test]
    fn each_batch_can_be_undone_for_its_own_time() {
        let mut undo = Undo::default();
        let first = undo.begin(UndoableAction::Deleted, vec![item(1), item(2)]);
        assert!(undo.take(first).is_some());
        let second = undo.begin(UndoableAction::Deleted, vec![item(1)]);
        let beside = undo.begin(UndoableAction::Archived, vec![item(3)]);
        assert_eq!(undo.take_due(first), None, "it was undone, and the later batch has time left");
        assert!(undo.is_deleting(item(1).uuid) && !undo.is_deleting(item(3).uuid));
        assert!(undo.take_due(second).is_some());
        assert!(undo.is_deleting(item(1).uuid), "until the server has deleted it");
        undo.end(item(1).uuid);
        assert!(!undo.is_deleting(item(1).uuid));
        assert_eq!(undo.batches().iter().map(|batch| batch.number).collect::<Vec<_>>(), [beside]);
    }

    #[test]
    fn a_conversation_is_only_in_its_last_batch() {
        let mut undo = Undo::default();
        undo.begin(UndoableAction::Archived, vec![item(1), item(2)]);
        undo.begin(UndoableAction::Deleted, vec![item(2)]);
        let held = |undo: &Undo| undo.batches().iter().map(|batch| batch.conversations.len()).collect::<Vec<_>>();
        assert_eq!(held(&undo), [1, 1]);
        assert_eq!(undo.take_deletions(), [item(2).uuid]);
        assert_eq!(held(&undo), [1], "the server has already archived the other one");
    }
}
