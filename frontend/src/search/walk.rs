//! Going from one match to the next. Does not use the browser.

/// The direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SearchStep {
    Next,
    Previous,
}

/// The match that is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Walk {
    at: Option<usize>,
}

impl Walk {
    /// Returns the index of the shown match.
    pub(crate) fn at(self) -> Option<usize> {
        self.at
    }

    /// Starts at the first match in the loaded messages. If all matches are before these, starts at the last one, which
    /// is nearest.
    pub(crate) fn begin(not_loaded: usize, count: usize) -> Self {
        Self { at: count.checked_sub(1).map(|last| last.min(not_loaded)) }
    }

    /// Goes to the next or previous match, and wraps around at the ends.
    pub(crate) fn step(&mut self, step: SearchStep, count: usize) -> Option<usize> {
        let last = count.checked_sub(1)?;
        let to = match (step, self.at) {
            (SearchStep::Next, at) => at.map(|at| at + 1).filter(|at| *at <= last).unwrap_or(0),
            (SearchStep::Previous, at) => at.and_then(|at| at.checked_sub(1)).unwrap_or(last).min(last),
        };
        self.at = Some(to);
        self.at
    }

    /// Keeps the shown match after the matches were counted again. `now` is its new index, or `None` if it is gone.
    pub(crate) fn keep(&mut self, now: Option<usize>, count: usize) {
        self.at = self.at.and_then(|at| Some(now.unwrap_or(at).min(count.checked_sub(1)?)));
    }
}

#[cfg(test)]
mod tests {
    use super::{
        SearchStep::{Next, Previous},
        Walk,
    };

    #[test]
    fn a_walk_starts_at_the_first_loaded_match_or_at_the_nearest_one() {
        assert_eq!(Walk::begin(1, 3).at(), Some(1));
        assert_eq!(Walk::begin(2, 2).at(), Some(1));
        assert_eq!(Walk::begin(0, 0).at(), None);
    }

    #[test]
    fn steps_wrap_around_at_the_ends() {
        let mut walk = Walk::begin(0, 2);
        assert_eq!(walk.step(Next, 2), Some(1));
        assert_eq!(walk.step(Next, 2), Some(0));
        assert_eq!(walk.step(Previous, 2), Some(1));
        assert_eq!(Walk::default().step(Next, 0), None);
        assert_eq!(walk.step(Previous, 0), None);
    }

    #[test]
    fn the_shown_match_stays_when_others_are_found_before_it() {
        let mut walk = Walk::begin(0, 3);
        walk.keep(Some(4), 7);
        assert_eq!(walk.at(), Some(4));
        walk.keep(None, 2);
        assert_eq!(walk.at(), Some(1), "it is gone");
        walk.keep(None, 0);
        assert_eq!(walk.at(), None);
    }
}
