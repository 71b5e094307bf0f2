//! The selected conversations. Does not use the browser.

use uuid::Uuid;

/// A set of selected conversations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Selection {
    chosen: Vec<Uuid>,
    /// The conversation that was selected or deselected last, where a range starts.
    anchor: Option<Uuid>,
}

impl Selection {
    /// Selects a conversation, or deselects it.
    pub(super) fn toggle(&mut self, uuid: Uuid) {
        if self.holds(uuid) {
            self.chosen.retain(|other| *other != uuid);
        } else {
            self.chosen.push(uuid);
        }
        self.anchor = Some(uuid);
    }

    /// Selects all conversations from the last one to this one, in the order of `shown`.
    pub(super) fn extend(&mut self, uuid: Uuid, shown: &[Uuid]) {
        let place = |wanted: Uuid| shown.iter().position(|other| *other == wanted);
        let Some((from, to)) = self.anchor.and_then(place).zip(place(uuid)) else { return self.toggle(uuid) };
        for &between in &shown[from.min(to)..=from.max(to)] {
            if !self.holds(between) {
                self.chosen.push(between);
            }
        }
        self.anchor = Some(uuid);
    }

    /// Selects all `shown` conversations. If all of them are selected, deselects them.
    pub(super) fn toggle_all(&mut self, shown: &[Uuid]) {
        let is_all = shown.iter().all(|uuid| self.holds(*uuid));
        self.chosen = if is_all { Vec::new() } else { shown.to_vec() };
        self.anchor = None;
    }

    pub(super) fn holds(&self, uuid: Uuid) -> bool {
        self.chosen.contains(&uuid)
    }

    /// Returns the selected conversations that are `shown`, in that order.
    pub(super) fn among(&self, shown: &[Uuid]) -> Vec<Uuid> {
        shown.iter().copied().filter(|uuid| self.holds(*uuid)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Selection, Uuid};

    #[test]
    fn all_shown_conversations_are_selected_and_deselected_together() {
        let shown: Vec<_> = (0..4).map(Uuid::from_u128).collect();
        let mut selection = Selection::default();
        selection.toggle(shown[2]);
        selection.toggle_all(&shown);
        assert_eq!(selection.among(&shown), shown);
        let longer: Vec<_> = (0..6).map(Uuid::from_u128).collect();
        assert_eq!(selection.among(&longer), shown, "conversations that are loaded later are not selected");
        selection.extend(longer[5], &longer);
        assert_eq!(selection.among(&longer), [&shown[..], &longer[5..]].concat(), "no range starts before that");
        selection.toggle_all(&longer);
        assert_eq!(selection.among(&longer), longer);
        selection.toggle_all(&longer);
        assert!(selection.among(&longer).is_empty());
    }

    #[test]
    fn a_range_starts_at_the_last_choice_and_goes_in_either_direction() {
        let shown: Vec<_> = (0..6).map(Uuid::from_u128).collect();
        let chosen = |selection: &Selection| -> Vec<_> { selection.among(&shown).iter().map(Uuid::as_u128).collect() };
        let mut selection = Selection::default();
        selection.extend(shown[3], &shown);
        assert_eq!(chosen(&selection), [3], "a range without a start is one conversation");
        selection.extend(shown[1], &shown);
        assert_eq!(chosen(&selection), [1, 2, 3]);
        selection.toggle(shown[2]);
        selection.toggle(shown[4]);
        selection.extend(shown[5], &shown);
        assert_eq!(chosen(&selection), [1, 3, 4, 5]);
        assert_eq!(selection.among(&shown[..2]), [shown[1]], "those that left the list are not chosen any more");
        let gone = Uuid::from_u128(9);
        selection.toggle(gone);
        selection.extend(shown[0], &shown);
        assert_eq!(chosen(&selection), [0, 1, 3, 4, 5], "a range from a conversation that is gone is one conversation");
    }
}
