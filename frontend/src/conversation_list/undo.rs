//! Actions that can be undone for some seconds: archived conversations, and deletions that were not sent to the server yet.

use tallybook_protocol::ConversationSummary;
use uuid::Uuid;

/// An action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    Archived,
    Unarchived,
    /// The deletion is sent once it can no longer be undone.
    Deleted,
}

/// Conversations that an action changed, and that are undone together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) number: u32,
    pub(crate) deed: Deed,
    /// The conversations before the action.
    pub(crate) conversations: Vec<ConversationSummary>,
}

/// All actions that can be undone. Each batch has a number, and its own time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Undo {
    batches: Vec<Batch>,
    last: u32,
    /// Deletions that can no longer be undone, and are not completed.
    deleting: Vec<Uuid>,
}

impl Undo {
    /// Starts the time of a batch, and returns its number. A conversation is only in its latest batch.
    pub(super) fn begin(&mut self, deed: Deed, conversations: Vec<ConversationSummary>) -> u32 {
        self.last = self.last.wrapping_add(1);
        for batch in &mut self.batches {
            batch.conversations.retain(|item| conversations.iter().all(|other| other.uuid != item.uuid));
        }
        self.batches.retain(|batch| !batch.conversations.is_empty());
        self.batches.push(Batch { number: self.last, deed, conversations });
        self.last
    }

    /// Ends the time of a batch; `None` if it was undone before.
    pub(super) fn take(&mut self, number: u32) -> Option<Batch> {
        let at = self.batches.iter().position(|batch| batch.number == number)?;
        Some(self.batches.remove(at))
    }

    /// Does the same, and counts its deletions as running until they are completed.
    pub(super) fn take_due(&mut self, number: u32) -> Option<Batch> {
        let batch = self.take(number)?;
        if batch.deed == Deed::Deleted {
            self.deleting.extend(batch.conversations.iter().map(|item| item.uuid));
        }
        Some(batch)
    }

    /// Ends the time of all deletions, and returns them.
    pub(super) fn take_deletions(&mut self) -> Vec<Uuid> {
        let (deletions, others) =
            std::mem::take(&mut self.batches).into_iter().partition(|batch| batch.deed == Deed::Deleted);
        self.batches = others;
        let deletions: Vec<Batch> = deletions;
        deletions.into_iter().flat_map(|batch| batch.conversations).map(|item| item.uuid).collect()
    }

    /// Ends a deletion.
    pub(super) fn end(&mut self, uuid: Uuid) {
        self.deleting.retain(|other| *other != uuid);
    }

    /// Returns `true` if a conversation is deleted here and perhaps not on the server.
    pub(super) fn is_deleting(&self, uuid: Uuid) -> bool {
        let batches = self.batches.iter().filter(|batch| batch.deed == Deed::Deleted);
        self.deleting.contains(&uuid) || batches.flat_map(|batch| &batch.conversations).any(|item| item.uuid == uuid)
    }

    /// Returns the actions that can be undone, the latest last.
    pub(super) fn batches(&self) -> &[Batch] {
        &self.batches
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::{ConversationSummary, Deed, Undo, Uuid};

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
    fn each_batch_has_its_own_time_for_second_thoughts() {
        let mut undo = Undo::default();
        let first = undo.begin(Deed::Deleted, vec![item(1), item(2)]);
        assert!(undo.take(first).is_some());
        let second = undo.begin(Deed::Deleted, vec![item(1)]);
        let beside = undo.begin(Deed::Archived, vec![item(3)]);
        assert_eq!(undo.take_due(first), None, "it was undone, and the later one still has time");
        assert!(undo.is_deleting(item(1).uuid) && !undo.is_deleting(item(3).uuid));
        assert!(undo.take_due(second).is_some());
        assert!(undo.is_deleting(item(1).uuid), "until the server has done it");
        undo.end(item(1).uuid);
        assert!(!undo.is_deleting(item(1).uuid));
        assert_eq!(undo.batches().iter().map(|batch| batch.number).collect::<Vec<_>>(), [beside]);
    }

    #[test]
    fn a_conversation_is_in_the_last_batch_alone() {
        let mut undo = Undo::default();
        undo.begin(Deed::Archived, vec![item(1), item(2)]);
        undo.begin(Deed::Deleted, vec![item(2)]);
        let held = |undo: &Undo| undo.batches().iter().map(|batch| batch.conversations.len()).collect::<Vec<_>>();
        assert_eq!(held(&undo), [1, 1]);
        assert_eq!(undo.take_deletions(), [item(2).uuid]);
        assert_eq!(held(&undo), [1], "what was put away is so on the server already");
    }
}
