//! What a reader does with its turn.

use std::time::Duration;

/// What a reader does with its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behavior {
    /// Reads to the end.
    Reads,
    /// Reads nothing for a while, once the answer has begun.
    Stalls,
    /// Breaks the connection off, and comes back for the rest.
    Resumes,
    /// Goes away for good.
    Leaves,
    /// Has the turn stopped.
    Stops,
}

/// How long a reader stalls: less than the server waits for one that reads nothing.
pub(super) const STALL: Duration = Duration::from_secs(2);

impl Behavior {
    /// Of twenty readers twelve read, and of the others two each.
    pub(super) fn of(number: usize) -> Self {
        match number % 20 {
            3 | 13 => Self::Stalls,
            5 | 15 => Self::Resumes,
            7 | 17 => Self::Leaves,
            9 | 19 => Self::Stops,
            _ => Self::Reads,
        }
    }

    /// After how much text it does what it does.
    pub(super) fn acts_after(self, number: usize, answer_bytes: usize) -> Option<usize> {
        // At another place each, from the first quarter to the last.
        let place = answer_bytes * (1 + number / 20 % 3) / 4;
        (self != Self::Reads).then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::Behavior;

    #[test]
    fn most_read_and_some_do_each_of_the_rest() {
        let count = |behavior| (0..20).filter(|&number| Behavior::of(number) == behavior).count();
        let counts =
            [Behavior::Reads, Behavior::Stalls, Behavior::Resumes, Behavior::Leaves, Behavior::Stops].map(count);
        assert_eq!(counts, [12, 2, 2, 2, 2]);
        assert_eq!(Behavior::Reads.acts_after(0, 100), None);
        assert_eq!(
            [5, 25, 45, 65].map(|number| Behavior::of(number).acts_after(number, 100)),
            [25, 50, 75, 25].map(Some)
        );
    }
}
