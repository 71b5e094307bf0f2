//! Behaviors of readers: clients that read the events of a turn.

use std::time::Duration;

/// The behavior of a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Behavior {
    /// Reads to the end.
    Reads,
    /// Reads nothing for a while, after the answer has begun.
    Stalls,
    /// Closes the connection, and reconnects for the rest.
    Resumes,
    /// Disconnects and does not come back.
    Leaves,
    /// Stops the turn.
    Stops,
}

/// Duration of a reader's stall. It is shorter than the server's timeout for a client that reads nothing.
pub(super) const STALL: Duration = Duration::from_secs(2);

impl Behavior {
    /// Returns the behavior of a reader. Of twenty readers, twelve read, and two each have the other behaviors.
    pub(super) fn of(number: usize) -> Self {
        match number % 20 {
            3 | 13 => Self::Stalls,
            5 | 15 => Self::Resumes,
            7 | 17 => Self::Leaves,
            9 | 19 => Self::Stops,
            _ => Self::Reads,
        }
    }

    /// Returns the amount of text, in bytes, after which the reader's special behavior starts; `None` if it only
    /// reads.
    pub(super) fn acts_after(self, number: usize, answer_bytes: usize) -> Option<usize> {
        // At different positions: after one, two, or three quarters of the answer.
        let place = answer_bytes * (1 + number / 20 % 3) / 4;
        (self != Self::Reads).then_some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::Behavior;

    #[test]
    fn most_readers_read_and_some_have_each_other_behavior() {
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
