//! Going from one of the places that were found to the next. Pure.

/// Which way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Next,
    Previous,
}

/// Where one is among the places found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Walk {
    at: Option<usize>,
    /// Whether the next one is waited for.
    waits: bool,
}

/// What a step leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// To this place.
    Go(usize),
    /// More is to be found first.
    FindMore,
    /// Nowhere.
    Stay,
}

impl Walk {
    /// The place that one is at, counted from 0.
    pub(crate) fn at(self) -> Option<usize> {
        self.at
    }

    /// Begins with the first of the places that are on the page already, or else with the last, which is nearest to them.
    pub(crate) fn begin(mut places: impl ExactSizeIterator<Item = bool>) -> Self {
        let last = places.len().checked_sub(1);
        Self { at: places.position(|is_here| is_here).or(last), waits: false }
    }

    /// Goes on, around the ends, but not beyond what was found while there may be more.
    pub(crate) fn step(&mut self, step: Step, count: usize, has_more: bool) -> Turn {
        let Some(last) = count.checked_sub(1) else { return Turn::Stay };
        let to = match (step, self.at) {
            (Step::Next, Some(at)) if at < last => at + 1,
            (Step::Next, Some(_)) if has_more => {
                self.waits = true;
                return Turn::FindMore;
            }
            (Step::Next, _) => 0,
            (Step::Previous, at) => at.and_then(|at| at.checked_sub(1)).unwrap_or(last),
        };
        self.go(to)
    }

    /// More may have been found, which somebody may wait for.
    pub(crate) fn grow(&mut self, count: usize, has_more: bool) -> Turn {
        if self.waits && (!has_more || self.at.is_some_and(|at| at + 1 < count)) {
            return self.step(Step::Next, count, has_more);
        }
        Turn::Stay
    }

    fn go(&mut self, to: usize) -> Turn {
        *self = Self { at: Some(to), waits: false };
        Turn::Go(to)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Step::{Next, Previous},
        Turn, Walk,
    };

    #[test]
    fn one_begins_with_what_is_on_the_page_and_else_nearest_to_it() {
        let at = |places: &[bool]| Walk::begin(places.iter().copied()).at();
        assert_eq!(at(&[false, true, true]), Some(1));
        assert_eq!(at(&[false, false]), Some(1));
        assert_eq!(at(&[]), None);
    }

    #[test]
    fn steps_go_around_the_ends() {
        let mut walk = Walk::begin([true, true].into_iter());
        assert_eq!(walk.step(Next, 2, false), Turn::Go(1));
        assert_eq!(walk.step(Next, 2, false), Turn::Go(0));
        assert_eq!(walk.step(Previous, 2, true), Turn::Go(1));
        assert_eq!(Walk::default().step(Next, 0, true), Turn::Stay);
    }

    #[test]
    fn who_goes_beyond_what_was_found_waits_for_more() {
        let mut walk = Walk::begin([true].into_iter());
        assert_eq!(walk.grow(1, true), Turn::Stay, "nobody waits");
        assert_eq!(walk.step(Next, 1, true), Turn::FindMore);
        assert_eq!(walk.grow(1, true), Turn::Stay, "that page had nothing");
        assert_eq!(walk.grow(2, true), Turn::Go(1));
        assert_eq!(walk.step(Next, 2, true), Turn::FindMore);
        assert_eq!(walk.grow(2, false), Turn::Go(0), "there was no more");
    }
}
