//! What of an answer's tool calls is open. What a reader opened or closed stays so, whatever happens around it; only the
//! reader's own word about all of them at once goes above it.

use std::collections::BTreeMap;

/// The reader's last word about all calls at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct All {
    /// How many such words there have been.
    said: u32,
    open: Option<bool>,
}

impl All {
    /// Opens or closes everything.
    pub fn set(&mut self, open: bool) {
        self.said = self.said.wrapping_add(1);
        self.open = Some(open);
    }
}

/// What the reader opened and closed in one answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Toggles {
    /// How many words about all calls there had been when these were said.
    said: u32,
    calls: BTreeMap<i64, bool>,
    /// Groups, by their first call.
    groups: BTreeMap<i64, bool>,
}

impl Toggles {
    /// Whether a call is open. One that waits for a decision opens itself.
    pub fn is_call_open(&self, all: All, id: i64, awaits_approval: bool) -> bool {
        self.own(all, &self.calls, id).or(all.open).unwrap_or(awaits_approval)
    }

    /// Whether a group of calls is open. One never closes over a call that the reader touched.
    pub fn is_group_open(&self, all: All, ids: &[i64]) -> bool {
        let first = ids.first().copied().unwrap_or_default();
        let touched = || ids.iter().any(|id| self.own(all, &self.calls, *id).is_some());
        self.own(all, &self.groups, first).or(all.open).unwrap_or_else(touched)
    }

    /// Opens or closes one call.
    pub fn set_call(&mut self, all: All, id: i64, open: bool) {
        self.begin(all);
        self.calls.insert(id, open);
    }

    /// Opens or closes a group.
    pub fn set_group(&mut self, all: All, ids: &[i64], open: bool) {
        self.begin(all);
        self.groups.insert(ids.first().copied().unwrap_or_default(), open);
    }

    fn own(&self, all: All, toggles: &BTreeMap<i64, bool>, id: i64) -> Option<bool> {
        toggles.get(&id).copied().filter(|_| self.said == all.said)
    }

    fn begin(&mut self, all: All) {
        if self.said != all.said {
            *self = Self { said: all.said, ..Self::default() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{All, Toggles};

    #[test]
    fn calls_are_closed_unless_they_wait_for_a_decision() {
        let (all, toggles) = (All::default(), Toggles::default());
        assert!(!toggles.is_call_open(all, 1, false));
        assert!(toggles.is_call_open(all, 1, true));
        assert!(!toggles.is_group_open(all, &[1, 2]));
    }

    #[test]
    fn a_readers_own_toggle_is_never_overridden() {
        let all = All::default();
        let mut toggles = Toggles::default();
        toggles.set_call(all, 1, false);
        assert!(!toggles.is_call_open(all, 1, true), "closed by hand, it stays closed while it waits");
        toggles.set_call(all, 2, true);
        assert!(toggles.is_call_open(all, 2, false));
        assert!(toggles.is_group_open(all, &[2, 3]), "a group that forms around an opened call is open");
        toggles.set_group(all, &[2, 3], false);
        assert!(!toggles.is_group_open(all, &[2, 3]));
        assert!(!toggles.is_group_open(all, &[2, 3, 4]), "and stays closed as it grows");
        assert!(toggles.is_call_open(all, 2, false));
    }

    #[test]
    fn a_word_about_all_goes_above_what_was_said_before_it_and_below_what_is_said_after() {
        let mut all = All::default();
        let mut toggles = Toggles::default();
        toggles.set_call(all, 1, false);
        all.set(true);
        assert!(toggles.is_call_open(all, 1, false) && toggles.is_group_open(all, &[1, 2]));
        toggles.set_call(all, 1, false);
        assert!(!toggles.is_call_open(all, 1, false) && toggles.is_call_open(all, 2, false));
        all.set(false);
        assert!(!toggles.is_call_open(all, 2, true));
    }
}
