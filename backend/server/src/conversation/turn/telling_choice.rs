//! Which exchanges a model is told whole, and which summary in place of those before. Pure: it works on numbers alone.

/// What there is to be told of the time before a question.
#[derive(Clone, Debug, Default)]
pub(super) struct Held {
    /// How many of the oldest exchanges were not even read, since there is no room for them.
    pub(super) unread: usize,
    /// The tokens of the others, oldest first.
    pub(super) tokens: Vec<usize>,
    /// How many exchanges each summary covers, in ascending order.
    pub(super) covered: Vec<usize>,
}

/// What is told of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Choice {
    /// Which summary.
    pub(super) summary: Option<usize>,
    /// The first exchange that is told whole.
    pub(super) first: usize,
}

impl Held {
    /// The first of the newest exchanges that together have room in so many tokens.
    pub(super) fn first_within(&self, tokens: usize) -> usize {
        let mut sum = 0_usize;
        let fitting = self.tokens.iter().rev().take_while(|&&of_one| {
            sum = sum.saturating_add(of_one);
            sum <= tokens
        });
        self.unread + self.tokens.len() - fitting.count()
    }
}

/// As much as possible is told whole, up to `whole` tokens where a summary stands for the rest: the oldest summary that leaves no
/// gap. Where none does, since it is still to be written or could not be, the newest one and as much as there is `room` for.
pub(super) fn choose(held: &Held, whole: usize, room: usize) -> Choice {
    let first = held.first_within(whole.min(room));
    if first == 0 {
        return Choice { summary: None, first };
    }
    if let Some(at) = held.covered.iter().position(|&covered| covered >= first) {
        return Choice { summary: Some(at), first: held.covered[at] };
    }
    let first = held.first_within(room);
    match held.covered.last() {
        Some(&covered) => Choice { summary: Some(held.covered.len() - 1), first: first.max(covered) },
        None => Choice { summary: None, first },
    }
}

#[cfg(test)]
mod tests {
    use super::{Choice, Held, choose};

    /// Ten exchanges of ten tokens.
    fn held(covered: &[usize]) -> Held {
        Held { unread: 0, tokens: vec![10; 10], covered: covered.to_vec() }
    }

    fn chosen(held: &Held, whole: usize, room: usize) -> (Option<usize>, usize) {
        let Choice { summary, first } = choose(held, whole, room);
        (summary, first)
    }

    #[test]
    fn what_fits_is_told_whole() {
        assert_eq!(chosen(&held(&[4, 10]), 100, 200), (None, 0));
        assert_eq!(chosen(&Held::default(), 0, 0), (None, 0));
    }

    #[test]
    fn the_oldest_summary_without_a_gap_stands_for_the_rest() {
        for (whole, room, expected) in [
            (99, 200, (Some(0), 4)),
            (60, 200, (Some(0), 4)),
            (59, 200, (Some(1), 7)),
            (200, 30, (Some(1), 7)),
            (29, 200, (Some(2), 10)),
            (0, 200, (Some(2), 10)),
        ] {
            assert_eq!(chosen(&held(&[4, 7, 10]), whole, room), expected, "{whole}, {room}");
        }
    }

    /// The newest exchanges are told that there is room for, whatever is not summed up yet.
    #[test]
    fn where_no_summary_reaches_as_much_is_told_as_there_is_room_for() {
        assert_eq!(chosen(&held(&[2]), 50, 200), (Some(0), 2));
        assert_eq!(chosen(&held(&[2]), 50, 60), (Some(0), 4));
        assert_eq!(chosen(&held(&[]), 50, 60), (None, 4));
        assert_eq!(chosen(&held(&[]), 50, 200), (None, 0));
        assert_eq!(chosen(&held(&[]), 50, 9), (None, 10));
    }

    #[test]
    fn what_was_not_read_counts_as_left_out() {
        let held = Held { unread: 90, ..held(&[92, 95]) };
        assert_eq!(chosen(&held, 1000, 1000), (Some(0), 92));
        assert_eq!(chosen(&held, 60, 1000), (Some(1), 95));
        assert_eq!(chosen(&Held { covered: Vec::new(), ..held }, 60, 1000), (None, 90));
    }
}
