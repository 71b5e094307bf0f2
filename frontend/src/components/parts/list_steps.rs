//! Steps through a list with the keyboard: arrows, Page Up, Page Down, Home and End. Pure.

/// Number of entries that Page Up and Page Down move by.
const PAGE: usize = 8;

/// A step through a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListStep {
    Next,
    Previous,
    PageDown,
    PageUp,
    First,
    Last,
}

/// The step that follows at the end of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AtEnd {
    /// Stays there.
    Stay,
    /// Continues at the other end.
    Wrap,
}

impl ListStep {
    /// Returns the step of a key; `None` if the key makes none.
    pub(crate) fn of(key: &str) -> Option<Self> {
        Some(match key {
            "ArrowDown" => Self::Next,
            "ArrowUp" => Self::Previous,
            "PageDown" => Self::PageDown,
            "PageUp" => Self::PageUp,
            "Home" => Self::First,
            "End" => Self::Last,
            _ => return None,
        })
    }

    /// Returns the index after this step in a list of `count` entries; `None` if the list is empty. `at` is the index
    /// before it, if there is one: without it, the list is entered at the end that the step comes from.
    pub(crate) fn from(self, at: Option<usize>, count: usize, at_end: AtEnd) -> Option<usize> {
        let last = count.checked_sub(1)?;
        let wraps = at_end == AtEnd::Wrap;
        let at = at.map(|at| at.min(last));
        Some(match (self, at) {
            (Self::First, _) | (Self::Next | Self::PageDown, None) => 0,
            (Self::Last, _) | (Self::Previous | Self::PageUp, None) => last,
            (Self::Next, Some(at)) if wraps && at == last => 0,
            (Self::Previous, Some(0)) if wraps => last,
            (Self::Next, Some(at)) => (at + 1).min(last),
            (Self::Previous, Some(at)) => at.saturating_sub(1),
            (Self::PageDown, Some(at)) => (at + PAGE).min(last),
            (Self::PageUp, Some(at)) => at.saturating_sub(PAGE),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{
        AtEnd::{Stay, Wrap},
        ListStep::{First, Last, Next, PageDown, PageUp, Previous},
    };

    #[test]
    fn steps_stay_within_the_list() {
        for (step, at, at_end, to) in [
            (Next, None, Stay, 0),
            (Previous, None, Wrap, 19),
            (Next, Some(3), Stay, 4),
            (Previous, Some(3), Wrap, 2),
            (Next, Some(19), Stay, 19),
            (Next, Some(19), Wrap, 0),
            (Previous, Some(0), Stay, 0),
            (Previous, Some(0), Wrap, 19),
            (PageDown, Some(3), Wrap, 11),
            (PageDown, Some(15), Wrap, 19),
            (PageUp, Some(3), Stay, 0),
            (First, Some(7), Stay, 0),
            (Last, None, Stay, 19),
            (Next, Some(40), Stay, 19),
        ] {
            assert_eq!(step.from(at, 20, at_end), Some(to), "{step:?} from {at:?}, {at_end:?}");
            assert_eq!(step.from(at, 0, at_end), None);
        }
    }
}
