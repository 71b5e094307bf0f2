//! Figures of the last hours or days: calls by hour and status, how often and how long each tool, what models cost. Hours
//! that are over are counted once; those that are not yet are looked at when somebody asks.

use std::collections::{BTreeMap, HashMap, hash_map::Entry};

use chrono::{DateTime, DurationRound as _, TimeDelta, Utc};
use tallybook_protocol::ToolCallStatus;

use super::{
    Book, BookError,
    limits::{COUNTED_HOURS, HOURS_COUNTED_AT_ONCE, MAX_HOURS_LOOKED_AT, MAX_OPEN_CALLS},
    store::{
        figures::{self, CallsOfHourRow, CallsRow, HourRows, ModelsRow, PurposesRow, SpentRow},
        whole,
    },
};
use crate::{accounts::UserId, db::now};

/// How many calls there were, and how they stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) calls: i64,
    /// In the order of [`ToolCallStatus`].
    by_status: [i64; 8],
}

/// What model calls took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Spent {
    pub(crate) calls: i64,
    pub(crate) input_tokens: i64,
    pub(crate) output_tokens: i64,
    pub(crate) cost_nanos: i64,
}

/// A tool's calls, and how many took up to so many milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToolFigures {
    pub(crate) count: Count,
    durations: BTreeMap<i64, i64>,
}

/// What there was since a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    /// By the hour, each that has calls.
    pub(crate) hours: BTreeMap<DateTime<Utc>, Count>,
    pub(crate) tools: BTreeMap<String, ToolFigures>,
    /// By the day, as it is written.
    pub(crate) days: BTreeMap<String, Spent>,
    pub(crate) models: BTreeMap<String, Spent>,
    pub(crate) people: BTreeMap<String, Spent>,
    /// By what models were asked for.
    pub(crate) purposes: BTreeMap<String, Spent>,
    /// Hours that are not counted yet and were too many to be looked at.
    pub(crate) missing_hours: usize,
}

impl Count {
    fn add(&mut self, status: ToolCallStatus, calls: i64) {
        self.calls += calls;
        self.by_status[status as usize] += calls;
    }

    /// Those that stand so.
    pub(crate) fn of(self, status: ToolCallStatus) -> i64 {
        self.by_status[status as usize]
    }

    /// Those that failed, in thousandths.
    pub(crate) fn failed_permille(self) -> i64 {
        if self.calls == 0 { 0 } else { self.of(ToolCallStatus::Error) * 1000 / self.calls }
    }
}

impl Spent {
    fn add(&mut self, row: SpentRow) {
        self.calls += row.calls;
        self.input_tokens += row.input_tokens;
        self.output_tokens += row.output_tokens;
        self.cost_nanos += row.cost_nanos;
    }
}

impl ToolFigures {
    /// Milliseconds within which so many hundredths of the calls were done; `None` when none is known to have taken any time.
    pub(crate) fn within_ms(&self, percent: i64) -> Option<i64> {
        let all: i64 = self.durations.values().sum();
        let mut done = 0;
        let is_reached = |(_, calls): &(&i64, &i64)| {
            done += **calls;
            done * 100 >= all * percent
        };
        self.durations.iter().find(is_reached).map(|(up_to_ms, _)| *up_to_ms)
    }
}

impl Figures {
    fn add_models(&mut self, day: &str, user: &str, row: &ModelsRow) {
        self.days.entry(day.to_owned()).or_default().add(row.spent);
        self.models.entry(row.model_name.clone()).or_default().add(row.spent);
        self.people.entry(user.to_owned()).or_default().add(row.spent);
    }

    fn add_purposes(&mut self, rows: &[PurposesRow]) {
        for row in rows {
            self.purposes.entry(row.purpose.clone()).or_default().add(row.spent);
        }
    }

    fn add_hour(&mut self, hour: DateTime<Utc>, rows: &HourRows) {
        for CallsRow { tool_name, status, calls } in &rows.calls {
            self.hours.entry(hour).or_default().add(*status, *calls);
            self.tools.entry(tool_name.clone()).or_default().count.add(*status, *calls);
        }
        for (tool, up_to_ms, calls) in &rows.durations {
            *self.tools.entry(tool.clone()).or_default().durations.entry(*up_to_ms).or_default() += calls;
        }
    }

    /// All calls together.
    pub(crate) fn total(&self) -> Count {
        let mut total = Count::default();
        for count in self.hours.values() {
            total.calls += count.calls;
            for (sum, calls) in total.by_status.iter_mut().zip(count.by_status) {
                *sum += calls;
            }
        }
        total
    }
}

impl Book {
    /// What there was since the beginning of an hour so many hours ago, at most a month of them.
    pub(crate) async fn figures(&self, hours: i64) -> Result<(DateTime<Utc>, Figures), BookError> {
        let db = &self.context.db;
        let (since, mut missing) = self.uncounted(hours.min(COUNTED_HOURS)).await?;
        let sums = figures::sum(db, since).await?;
        let mut all = Figures::default();
        for CallsOfHourRow { hour, status, calls } in sums.hours {
            all.hours.entry(hour).or_default().add(status, calls);
        }
        for CallsRow { tool_name, status, calls } in sums.tools {
            all.tools.entry(tool_name).or_default().count.add(status, calls);
        }
        for (tool, up_to_ms, calls) in sums.durations {
            *all.tools.entry(tool).or_default().durations.entry(up_to_ms).or_default() += calls;
        }
        let mut names: HashMap<UserId, String> = sums.names.into_iter().collect();
        for row in &sums.models {
            all.add_models(&row.day, names.get(&row.models.user_id).map_or("?", String::as_str), &row.models);
        }
        all.add_purposes(&sums.purposes);
        // The newest are the last.
        let looked_at = missing.split_off(missing.len().saturating_sub(MAX_HOURS_LOOKED_AT));
        all.missing_hours = missing.len();
        for hour in looked_at {
            let rows = figures::look_at_hour(db, hour).await?;
            all.add_hour(hour, &rows);
            all.add_purposes(&rows.purposes);
            for row in &rows.models {
                let name = match names.entry(row.user_id) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(unknown) => {
                        unknown.insert(whole::find_user_name(db, row.user_id).await?.unwrap_or_default())
                    }
                };
                all.add_models(&hour.format("%Y-%m-%d").to_string(), name, row);
            }
        }
        Ok((since, all))
    }

    /// Counts some of the hours that are over and whose calls are. Gives whether there may be more.
    pub(super) async fn count_hours(&self) -> sqlx::Result<bool> {
        let db = &self.context.db;
        let (since, mut missing) = self.uncounted(COUNTED_HOURS).await?;
        let open = figures::list_open(db, since, MAX_OPEN_CALLS).await?;
        let over = now() - TimeDelta::hours(2);
        missing
            .retain(|hour| *hour <= over && !open.iter().any(|at| (*hour..*hour + TimeDelta::hours(1)).contains(at)));
        // The newest first, which are looked at most.
        let some: Vec<DateTime<Utc>> = missing.into_iter().rev().take(HOURS_COUNTED_AT_ONCE).collect();
        if !some.is_empty() {
            figures::count_hours(db, &some, now()).await?;
        }
        Ok(some.len() == HOURS_COUNTED_AT_ONCE)
    }

    /// The beginning of the hour so many hours ago, and which hours since then are not counted; but none before the first in which
    /// there is something to count.
    async fn uncounted(&self, hours: i64) -> sqlx::Result<(DateTime<Utc>, Vec<DateTime<Utc>>)> {
        let hour = TimeDelta::hours(1);
        let now = now();
        let this_hour = now.duration_trunc(hour).unwrap_or(now);
        let since = this_hour - TimeDelta::hours(hours);
        let Some(first) = figures::find_first(&self.context.db, since).await? else { return Ok((since, Vec::new())) };
        let counted = figures::list_counted(&self.context.db, since).await?;
        let all = (0..=hours).map(|after| since + TimeDelta::hours(after));
        let is_missing = |at: &DateTime<Utc>| first < *at + hour && counted.binary_search(at).is_err();
        Ok((since, all.filter(is_missing).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::ToolFigures;

    #[test]
    fn a_share_of_the_calls_is_done_within_a_time() {
        let figures = ToolFigures { durations: [(10, 90), (100, 9), (1000, 1)].into(), ..ToolFigures::default() };
        assert_eq!([50, 90, 91, 99, 100].map(|percent| figures.within_ms(percent)), [10, 10, 100, 100, 1000].map(Some));
        assert_eq!(ToolFigures::default().within_ms(50), None);
    }
}
