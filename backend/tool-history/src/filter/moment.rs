//! Points in time in a filter: a day, a minute or a second (UTC), or a time span before now.

use std::fmt;

use chrono::{DateTime, Datelike as _, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike as _, Utc};

/// Maximum number of units in a relative time.
const MAX_AGO: u32 = 100_000;

/// Years for which MariaDB can store every timestamp.
const YEARS: std::ops::RangeInclusive<i32> = 1971..=2037;

/// A point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A whole day: `since` starts at its beginning, `until` ends at its end.
    Day(NaiveDate),
    /// A time with a precision of one second.
    Time(NaiveDateTime),
    /// An amount of units before now.
    Ago(u32, Unit),
}

/// Unit of a relative time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Minutes,
    Hours,
    Days,
}

impl Unit {
    const ALL: [Self; 3] = [Self::Minutes, Self::Hours, Self::Days];

    const fn letter(self) -> char {
        match self {
            Self::Minutes => 'm',
            Self::Hours => 'h',
            Self::Days => 'd',
        }
    }

    fn times(self, amount: u32) -> TimeDelta {
        let minutes = match self {
            Self::Minutes => 1,
            Self::Hours => 60,
            Self::Days => 24 * 60,
        };
        TimeDelta::minutes(minutes * i64::from(amount))
    }
}

impl Moment {
    /// Parses `2026-11-01`, `2026-11-01T12:30`, `2026-11-01T12:30:15`, the latter two also with a final `Z`, and `7d`,
    /// `24h`, `30m`. Returns `None` for any other text.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if let Some(unit) = Unit::ALL.into_iter().find(|unit| text.ends_with(unit.letter())) {
            let amount = &text[..text.len() - 1];
            let is_number = !amount.is_empty() && amount.bytes().all(|byte| byte.is_ascii_digit());
            let amount = amount.parse().ok().filter(|amount| is_number && *amount <= MAX_AGO)?;
            return Some(Self::Ago(amount, unit));
        }
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit() || b"-:TZ".contains(&byte));
        if !is_plain {
            return None;
        }
        let time = text.strip_suffix('Z').unwrap_or(text);
        let formats = ["%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"];
        let time = formats.iter().find_map(|format| NaiveDateTime::parse_from_str(time, format).ok());
        let moment = time.map(Self::Time).or_else(|| text.parse().ok().map(Self::Day))?;
        YEARS.contains(&moment.year()).then_some(moment)
    }

    fn year(self) -> i32 {
        match self {
            Self::Day(day) => day.year(),
            Self::Time(time) => time.year(),
            Self::Ago(..) => *YEARS.end(),
        }
    }

    /// Returns the start of the moment. The result is never before 1971.
    pub fn beginning(self, now: DateTime<Utc>) -> DateTime<Utc> {
        match self {
            Self::Day(day) => day.and_time(NaiveTime::MIN).and_utc(),
            Self::Time(time) => time.and_utc(),
            Self::Ago(amount, unit) => now - unit.times(amount),
        }
        .max(DateTime::UNIX_EPOCH + TimeDelta::days(365))
    }

    /// Returns the end of the moment: the end of the day for a day, otherwise the same as [`Self::beginning`].
    pub fn end(self, now: DateTime<Utc>) -> DateTime<Utc> {
        match self {
            Self::Day(day) => (day + TimeDelta::days(1)).and_time(NaiveTime::MIN).and_utc(),
            Self::Time(_) | Self::Ago(..) => self.beginning(now),
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Day(day) => write!(f, "{day}"),
            Self::Time(time) if time.second() == 0 => write!(f, "{}", time.format("%Y-%m-%dT%H:%M")),
            Self::Time(time) => write!(f, "{}", time.format("%Y-%m-%dT%H:%M:%S")),
            Self::Ago(amount, unit) => write!(f, "{amount}{}", unit.letter()),
        }
    }
}
