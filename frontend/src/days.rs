//! Which day a conversation was last written in, as its reader's calendar has it. Pure: `browser` tells where days begin.

/// The groups of the list of conversations, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Day {
    Today,
    Yesterday,
    /// Up to seven days before today.
    LastWeek,
    Older,
}

/// Where days begin, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Calendar {
    pub(crate) today: i64,
    pub(crate) yesterday: i64,
    /// Seven days before today.
    pub(crate) last_week: i64,
}

impl Calendar {
    /// The group of what happened at `ms`. A clock that is ahead of the reader's is still today.
    pub(crate) fn day_of(self, ms: i64) -> Day {
        if ms >= self.today {
            Day::Today
        } else if ms >= self.yesterday {
            Day::Yesterday
        } else if ms >= self.last_week {
            Day::LastWeek
        } else {
            Day::Older
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Calendar, Day};

    #[test]
    fn days_begin_at_midnight() {
        let calendar = Calendar { today: 1000, yesterday: 900, last_week: 300 };
        let expected = [
            (2000, Day::Today),
            (1000, Day::Today),
            (999, Day::Yesterday),
            (899, Day::LastWeek),
            (300, Day::LastWeek),
            (299, Day::Older),
        ];
        for (ms, day) in expected {
            assert_eq!(calendar.day_of(ms), day, "{ms}");
        }
    }
}
