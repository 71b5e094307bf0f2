//! The items of an answer that the user opened or closed. A choice stays whatever happens around it; only a later
//! command to open or close everything overrides it.

use std::collections::BTreeMap;

use tallybook_protocol::PlanStepId;

use super::ItemKey;

/// The user's last command to open or close everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExpandAll {
    /// Number of such commands so far.
    revision: u32,
    open: Option<bool>,
}

impl ExpandAll {
    /// Opens or closes everything.
    pub fn set(&mut self, open: bool) {
        self.revision = self.revision.wrapping_add(1);
        self.open = Some(open);
    }
}

/// The user's choices in one answer: `true` means open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toggles {
    /// The revision of [`ExpandAll`] at which these were chosen.
    revision: u32,
    items: BTreeMap<ItemKey, bool>,
    /// Groups, by their first item.
    groups: BTreeMap<ItemKey, bool>,
    /// Steps of a plan.
    steps: BTreeMap<PlanStepId, bool>,
}

impl Toggles {
    /// Returns `true` if an item is open. Without a choice of the user, returns `by_default`.
    pub fn is_open(&self, all: ExpandAll, key: ItemKey, by_default: bool) -> bool {
        self.own(all, &self.items, &key).or(all.open).unwrap_or(by_default)
    }

    /// Returns `true` if the plan step with these items is open. Without a choice of the user, returns `by_default`, or
    /// `true` if the user toggled one of the items.
    pub fn is_step_open(&self, all: ExpandAll, step: PlanStepId, keys: &[ItemKey], by_default: bool) -> bool {
        let own = self.own(all, &self.steps, &step).or(all.open);
        own.unwrap_or_else(|| by_default || self.has_toggled(all, keys))
    }

    /// Returns `true` if a group of items is open. Without a choice of the user, a group is open if the user toggled
    /// one of its items.
    pub fn is_group_open(&self, all: ExpandAll, keys: &[ItemKey]) -> bool {
        let own = keys.first().and_then(|first| self.own(all, &self.groups, first));
        own.or(all.open).unwrap_or_else(|| self.has_toggled(all, keys))
    }

    fn has_toggled(&self, all: ExpandAll, keys: &[ItemKey]) -> bool {
        keys.iter().any(|key| self.own(all, &self.items, key).is_some())
    }

    /// Opens or closes one item.
    pub fn set(&mut self, all: ExpandAll, key: ItemKey, open: bool) {
        self.begin(all);
        self.items.insert(key, open);
    }

    /// Opens or closes a group.
    pub fn set_group(&mut self, all: ExpandAll, keys: &[ItemKey], open: bool) {
        self.begin(all);
        self.groups.extend(keys.first().map(|first| (*first, open)));
    }

    /// Opens or closes a step of the plan.
    pub fn set_step(&mut self, all: ExpandAll, step: PlanStepId, open: bool) {
        self.begin(all);
        self.steps.insert(step, open);
    }

    fn own<K: Ord>(&self, all: ExpandAll, toggles: &BTreeMap<K, bool>, key: &K) -> Option<bool> {
        toggles.get(key).copied().filter(|_| self.revision == all.revision)
    }

    fn begin(&mut self, all: ExpandAll) {
        if self.revision != all.revision {
            *self = Self { revision: all.revision, ..Self::default() };
        }
    }
}

#[cfg(test)]
mod tests {
    use tallybook_protocol::ToolCallId;

    use super::{ExpandAll, Toggles};
    use crate::transcript::ItemKey;

    const ONE: ItemKey = ItemKey::Call(ToolCallId(1));
    const TWO: ItemKey = ItemKey::Call(ToolCallId(2));
    const THREE: ItemKey = ItemKey::Call(ToolCallId(3));
    const FOUR: ItemKey = ItemKey::Call(ToolCallId(4));

    #[test]
    fn calls_are_closed_unless_they_wait_for_a_decision() {
        let (all, toggles) = (ExpandAll::default(), Toggles::default());
        assert!(!toggles.is_open(all, ONE, false));
        assert!(toggles.is_open(all, ONE, true));
        assert!(!toggles.is_group_open(all, &[ONE, TWO]));
    }

    #[test]
    fn a_users_choice_overrides_the_default_and_opens_its_group() {
        let all = ExpandAll::default();
        let mut toggles = Toggles::default();
        toggles.set(all, ONE, false);
        assert!(!toggles.is_open(all, ONE, true), "a call that the user closed stays closed while it waits");
        toggles.set(all, TWO, true);
        assert!(toggles.is_open(all, TWO, false));
        assert!(toggles.is_group_open(all, &[TWO, THREE]), "a group that forms around an opened call is open");
        toggles.set_group(all, &[TWO, THREE], false);
        assert!(!toggles.is_group_open(all, &[TWO, THREE]));
        assert!(!toggles.is_group_open(all, &[TWO, THREE, FOUR]), "a closed group stays closed as it grows");
        assert!(toggles.is_open(all, TWO, false));
    }

    #[test]
    fn a_command_for_all_overrides_earlier_choices_and_not_later_ones() {
        let mut all = ExpandAll::default();
        let mut toggles = Toggles::default();
        toggles.set(all, ONE, false);
        all.set(true);
        assert!(toggles.is_open(all, ONE, false) && toggles.is_group_open(all, &[ONE, TWO]));
        toggles.set(all, ONE, false);
        assert!(!toggles.is_open(all, ONE, false) && toggles.is_open(all, TWO, false));
        all.set(false);
        assert!(!toggles.is_open(all, TWO, true));
    }
}
