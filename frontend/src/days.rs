//! Groups conversations by the day of their last change, in the user's calendar. Pure: `browser` finds the
//! boundaries of days.

use std::time::{SystemTime, UNIX_EPOCH};

/// The groups of the list of conversations, newest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Day {
    Today,
    Yesterday,
    /// Up to seven days before today.
    LastWeek,
    Older,
}

/// Beginnings of days, in milliseconds since 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Calendar {
    pub(crate) today: i64,
    pub(crate) yesterday: i64,
    /// Seven days before today.
    pub(crate) last_week: i64,
}

impl Calendar {
    /// Returns the days of UTC at `now`.
    pub(crate) fn utc(now: SystemTime) -> Self {
        const DAY_MS: i64 = 24 * 60 * 60 * 1000;
        let ms = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
        let today = i64::try_from(ms).unwrap_or(0) / DAY_MS * DAY_MS;
        Self { today, yesterday: today - DAY_MS, last_week: today - 7 * DAY_MS }
    }

    /// Returns the group of a time. A time in the future, from a clock that is ahead of the user's, counts as today.
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
    use std::time::{Duration, UNIX_EPOCH};

    use super::{Calendar, Day};

    #[test]
    fn utc_days_have_24_hours() {
        let noon = UNIX_EPOCH + Duration::from_hours(24 * 10 + 12);
        let day = 86_400_000;
        assert_eq!(Calendar::utc(noon), Calendar { today: 10 * day, yesterday: 9 * day, last_week: 3 * day });
    }

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
