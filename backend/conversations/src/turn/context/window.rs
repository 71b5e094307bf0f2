//! Selects the exchanges that a prompt contains in full, and the summary that replaces the older ones. Pure: it works
//! on numbers alone.

/// The exchanges before a question and their summaries, from which the selection is made.
#[derive(Clone, Debug, Default)]
pub(crate) struct Candidates {
    /// Number of oldest exchanges that were not read, because they cannot fit.
    pub(crate) unread: usize,
    /// Tokens of each other exchange, oldest first.
    pub(crate) tokens: Vec<usize>,
    /// Number of exchanges that each summary covers, in ascending order.
    pub(crate) covered: Vec<usize>,
}

/// The selection for a prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Selection {
    /// Index of the summary in [`Candidates::covered`]. `None` for no summary.
    pub(crate) summary: Option<usize>,
    /// Index of the first exchange that the prompt contains in full.
    pub(crate) first: usize,
}

impl Candidates {
    /// Returns the index of the first of the newest exchanges that together fit in `tokens`.
    pub(crate) fn first_within(&self, tokens: usize) -> usize {
        let mut sum = 0_usize;
        let fitting = self.tokens.iter().rev().take_while(|&&of_one| {
            sum = sum.saturating_add(of_one);
            sum <= tokens
        });
        self.unread + self.tokens.len() - fitting.count()
    }
}

/// Selects what the prompt contains. If all exchanges fit in `whole` tokens, no summary is needed. Otherwise the oldest
/// summary that leaves no gap replaces the older exchanges, and at most `whole` tokens of newer ones follow. If every
/// summary leaves a gap, because the next one is not written yet or failed, the newest summary is used. Then as many of
/// the newest exchanges follow as fit in `budget` tokens.
pub(crate) fn select(candidates: &Candidates, whole: usize, budget: usize) -> Selection {
    let first = candidates.first_within(whole.min(budget));
    if first == 0 {
        return Selection { summary: None, first };
    }
    if let Some(at) = candidates.covered.iter().position(|&covered| covered >= first) {
        return Selection { summary: Some(at), first: candidates.covered[at] };
    }
    let first = candidates.first_within(budget);
    match candidates.covered.last() {
        Some(&covered) => Selection { summary: Some(candidates.covered.len() - 1), first: first.max(covered) },
        None => Selection { summary: None, first },
    }
}

#[cfg(test)]
mod tests {
    use crate::turn::context::window::{Candidates, Selection, select};

    /// Ten exchanges of ten tokens each.
    fn candidates(covered: &[usize]) -> Candidates {
        Candidates { unread: 0, tokens: vec![10; 10], covered: covered.to_vec() }
    }

    fn selected(candidates: &Candidates, whole: usize, budget: usize) -> (Option<usize>, usize) {
        let Selection { summary, first } = select(candidates, whole, budget);
        (summary, first)
    }

    #[test]
    fn what_fits_is_told_whole() {
        assert_eq!(selected(&candidates(&[4, 10]), 100, 200), (None, 0));
        assert_eq!(selected(&Candidates::default(), 0, 0), (None, 0));
    }

    #[test]
    fn the_oldest_summary_without_a_gap_stands_for_the_rest() {
        for (whole, budget, expected) in [
            (99, 200, (Some(0), 4)),
            (60, 200, (Some(0), 4)),
            (59, 200, (Some(1), 7)),
            (200, 30, (Some(1), 7)),
            (29, 200, (Some(2), 10)),
            (0, 200, (Some(2), 10)),
        ] {
            assert_eq!(selected(&candidates(&[4, 7, 10]), whole, budget), expected, "{whole}, {budget}");
        }
    }

    /// The prompt contains as many of the newest exchanges as fit, even if a gap to the summary remains.
    #[test]
    fn where_no_summary_reaches_as_much_is_told_as_there_is_room_for() {
        assert_eq!(selected(&candidates(&[2]), 50, 200), (Some(0), 2));
        assert_eq!(selected(&candidates(&[2]), 50, 60), (Some(0), 4));
        assert_eq!(selected(&candidates(&[]), 50, 60), (None, 4));
        assert_eq!(selected(&candidates(&[]), 50, 200), (None, 0));
        assert_eq!(selected(&candidates(&[]), 50, 9), (None, 10));
    }

    #[test]
    fn what_was_not_read_counts_as_left_out() {
        let candidates = Candidates { unread: 90, ..candidates(&[92, 95]) };
        assert_eq!(selected(&candidates, 1000, 1000), (Some(0), 92));
        assert_eq!(selected(&candidates, 60, 1000), (Some(1), 95));
        assert_eq!(selected(&Candidates { covered: Vec::new(), ..candidates }, 60, 1000), (None, 90));
    }
}
