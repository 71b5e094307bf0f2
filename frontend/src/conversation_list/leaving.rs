//! Conversations that are deleted here and not yet on the server. Pure.

use uuid::Uuid;

/// Which they are. A conversation may be deleted, taken back and deleted again: each deletion has a number of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Leaving {
    deletions: Vec<(Uuid, u32)>,
    last: u32,
}

impl Leaving {
    /// Begins a deletion, and gives its number.
    pub(super) fn begin(&mut self, uuid: Uuid) -> u32 {
        self.last = self.last.wrapping_add(1);
        self.end(uuid);
        self.deletions.push((uuid, self.last));
        self.last
    }

    /// Whether that deletion was not taken back.
    pub(super) fn is_due(&self, uuid: Uuid, deletion: u32) -> bool {
        self.deletions.contains(&(uuid, deletion))
    }

    /// Whether a conversation is being deleted.
    pub(super) fn holds(&self, uuid: Uuid) -> bool {
        self.deletions.iter().any(|(other, _)| *other == uuid)
    }

    /// It was taken back, or is done.
    pub(super) fn end(&mut self, uuid: Uuid) {
        self.deletions.retain(|(other, _)| *other != uuid);
    }

    /// All of them, of which none is known here any more.
    pub(super) fn take(&mut self) -> Vec<Uuid> {
        std::mem::take(&mut self.deletions).into_iter().map(|(uuid, _)| uuid).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Leaving, Uuid};

    #[test]
    fn each_deletion_has_its_own_time_for_second_thoughts() {
        let (one, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let mut leaving = Leaving::default();
        let first = leaving.begin(one);
        leaving.end(one);
        let second = leaving.begin(one);
        let beside = leaving.begin(other);
        assert!(!leaving.is_due(one, first), "it was taken back, and what came after has time left");
        assert!(leaving.is_due(one, second) && leaving.is_due(other, beside));
        leaving.end(one);
        assert!(!leaving.holds(one) && leaving.holds(other), "one is taken back and no other");
        assert_eq!(leaving.take(), [other]);
        assert!(!leaving.is_due(other, beside));
    }
}
