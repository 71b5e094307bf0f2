//! Statistics of the last hours or days: calls per hour and status, call counts and durations per tool, model costs,
//! and ratings of answers. The maintenance task counts each past hour once and adds up full days. Hours that are not
//! counted yet are counted on request.

use std::collections::{BTreeMap, HashMap, HashSet};

use chrono::{DateTime, DurationRound as _, TimeDelta, Utc};
use tallybook_accounts::UserId;
use tallybook_database::now;
use tallybook_protocol::{Rating, ToolCallStatus};

use super::{
    ToolHistory, ToolHistoryError,
    limits::{COUNTED_HOURS, HOURS_COUNTED_AT_ONCE, MAX_HOURS_ON_REQUEST, MAX_OPEN_CALLS, MAX_RATINGS_COUNTED},
    store::{
        figures::{self, CallsOfHourRow, CallsRow, HourRows, LONGEST_BUCKET_MS, ModelsRow, RatingsRow, UsageRow},
        totals::{self, SumRows},
    },
};

/// Number of calls, in total and by status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub calls: i64,
    /// Indexed by [`ToolCallStatus`]. The last entry is the unknown status.
    by_status: [i64; ToolCallStatus::ALL.len() + 1],
}

/// Number, tokens, and cost of model calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Number of calls.
    pub calls: i64,
    /// Tokens of the requests.
    pub input_tokens: i64,
    /// Tokens of the responses.
    pub output_tokens: i64,
    /// Cost, in billionths of the currency of the prices.
    pub cost_nanos: i64,
}

/// A tool's number of calls, and its number of calls per duration bucket. Buckets are keyed by their upper bound, in
/// milliseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolFigures {
    /// Number of calls by status.
    pub count: Count,
    durations: BTreeMap<i64, i64>,
}

/// Number of rated answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ratings {
    /// Number of answers that are rated as good.
    pub up: i64,
    /// Number of answers that are rated as bad.
    pub down: i64,
}

/// A bound of a duration, in milliseconds. The statistics count durations in buckets, so they know no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DurationBound {
    /// At most this long.
    AtMost(i64),
    /// Longer than this.
    MoreThan(i64),
}

/// Statistics since a point in time.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    /// By hour; only hours with calls.
    pub hours: BTreeMap<DateTime<Utc>, Count>,
    /// By tool.
    pub tools: BTreeMap<String, ToolFigures>,
    /// By day, written as `2026-11-01`.
    pub days: BTreeMap<String, Usage>,
    /// By model.
    pub models: BTreeMap<String, Usage>,
    /// By user.
    pub people: BTreeMap<String, Usage>,
    /// By purpose of the model call.
    pub purposes: BTreeMap<String, Usage>,
    /// Ratings that users gave or changed, by the model of the answer.
    pub ratings: BTreeMap<String, Ratings>,
    /// Number of hours that are missing from the statistics, because they are not counted yet and are too many to count
    /// on request.
    pub missing_hours: usize,
}

impl Count {
    fn add(&mut self, status: ToolCallStatus, calls: i64) {
        self.calls += calls;
        self.by_status[status as usize] += calls;
    }

    /// Returns the number of calls with this status.
    pub fn of(self, status: ToolCallStatus) -> i64 {
        self.by_status[status as usize]
    }

    /// Returns the share of failed calls, in per mille, rounded. Only if all calls failed, it is 1000.
    pub fn failed_permille(self) -> i64 {
        let failed = self.of(ToolCallStatus::Error);
        match self.calls {
            0 => 0,
            calls if failed == calls => 1000,
            calls => ((failed * 1000 + calls / 2) / calls).min(999),
        }
    }
}

impl Usage {
    fn add(&mut self, row: UsageRow) {
        self.calls += row.calls;
        self.input_tokens += row.input_tokens;
        self.output_tokens += row.output_tokens;
        self.cost_nanos += row.cost_nanos;
    }
}

impl ToolFigures {
    /// Returns a bound of the duration within which `percent` percent of the calls finished. `None` if no call has a
    /// duration.
    pub fn within(&self, percent: i64) -> Option<DurationBound> {
        let all: i64 = self.durations.values().sum();
        let mut done = 0;
        let is_reached = |(_, calls): &(&i64, &i64)| {
            done += **calls;
            done * 100 >= all * percent
        };
        let (up_to_ms, _) = self.durations.iter().find(is_reached)?;
        Some(if *up_to_ms > LONGEST_BUCKET_MS {
            DurationBound::MoreThan(LONGEST_BUCKET_MS)
        } else {
            DurationBound::AtMost(*up_to_ms)
        })
    }
}

impl Figures {
    fn add_sums(&mut self, sums: SumRows) {
        for CallsOfHourRow { hour, status, calls } in sums.hours {
            self.hours.entry(hour).or_default().add(status, calls);
        }
        for CallsRow { tool_name, status, calls } in sums.tools {
            self.tools.entry(tool_name).or_default().count.add(status, calls);
        }
        for (tool, up_to_ms, calls) in sums.durations {
            *self.tools.entry(tool).or_default().durations.entry(up_to_ms).or_default() += calls;
        }
        let all = [
            (&mut self.days, sums.days),
            (&mut self.models, sums.models),
            (&mut self.people, sums.people),
            (&mut self.purposes, sums.purposes),
        ];
        for (spent, rows) in all {
            for row in rows {
                spent.entry(row.name).or_default().add(row.spent);
            }
        }
    }

    fn add_models(&mut self, hour: DateTime<Utc>, rows: &[ModelsRow], names: &HashMap<UserId, String>) {
        for row in rows {
            let name = names.get(&row.user_id).map_or("?", String::as_str);
            self.days.entry(hour.format("%Y-%m-%d").to_string()).or_default().add(row.spent);
            self.models.entry(row.model_name.clone()).or_default().add(row.spent);
            self.people.entry(name.to_owned()).or_default().add(row.spent);
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
        for row in &rows.purposes {
            self.purposes.entry(row.purpose.clone()).or_default().add(row.spent);
        }
    }

    fn add_ratings(&mut self, rows: Vec<RatingsRow>) {
        for RatingsRow { model_name, rating, answers } in rows {
            let of_model = self.ratings.entry(model_name).or_default();
            match rating {
                Rating::Up => of_model.up += answers,
                Rating::Down => of_model.down += answers,
            }
        }
    }

    /// Returns the sum over all hours.
    pub fn total(&self) -> Count {
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

impl ToolHistory {
    /// Returns the start of the period, and the statistics since then. The period starts with the hour that was current
    /// `hours` hours ago, and is at most 31 days long.
    pub async fn figures(&self, hours: i64) -> Result<(DateTime<Utc>, Figures), ToolHistoryError> {
        let db = &self.context.db;
        let (since, mut missing) = self.uncounted(hours.min(COUNTED_HOURS)).await?;
        let mut all = Figures::default();
        all.add_sums(totals::sum(db, since, whole_days(since, &totals::list_counted_days(db, since).await?)).await?);
        // The newest hours are at the end.
        let looked_at = missing.split_off(missing.len().saturating_sub(MAX_HOURS_ON_REQUEST));
        all.missing_hours = missing.len();
        let mut models = Vec::with_capacity(looked_at.len());
        for hour in looked_at {
            let rows = figures::read_hour(db, hour).await?;
            all.add_hour(hour, &rows);
            models.push((hour, rows.models));
        }
        let users: HashSet<UserId> = models.iter().flat_map(|(_, rows)| rows).map(|row| row.user_id).collect();
        let users: Vec<UserId> = users.into_iter().collect();
        let names = figures::list_names(db, &users).await?.into_iter().collect();
        for (hour, rows) in models {
            all.add_models(hour, &rows, &names);
        }
        all.add_ratings(figures::count_ratings(db, since, MAX_RATINGS_COUNTED).await?);
        Ok((since, all))
    }

    /// Counts past hours that have no unfinished calls, a limited number per call. Returns `true` if there may be more
    /// to count.
    pub(crate) async fn count_hours(&self) -> sqlx::Result<bool> {
        let db = &self.context.db;
        let (since, mut missing) = self.uncounted(COUNTED_HOURS).await?;
        let open = figures::list_open(db, since, MAX_OPEN_CALLS).await?;
        let over = now() - TimeDelta::hours(2);
        missing
            .retain(|hour| *hour <= over && !open.iter().any(|at| (*hour..*hour + TimeDelta::hours(1)).contains(at)));
        // The newest hours first, because they are viewed most.
        let some: Vec<DateTime<Utc>> = missing.into_iter().rev().take(HOURS_COUNTED_AT_ONCE).collect();
        if !some.is_empty() {
            figures::count_hours(db, &some, now()).await?;
        }
        Ok(some.len() == HOURS_COUNTED_AT_ONCE || self.count_day().await?)
    }

    /// Adds up the newest full day that has no totals yet. A day is full when all its hours are counted. Returns `true`
    /// if there was such a day.
    async fn count_day(&self) -> sqlx::Result<bool> {
        let db = &self.context.db;
        let since = now() - TimeDelta::hours(COUNTED_HOURS);
        let hours = figures::list_counted(db, since).await?;
        let days = totals::list_counted_days(db, since).await?;
        let missing = full_days(&hours).into_iter().rfind(|day| days.binary_search(day).is_err());
        let Some(day) = missing else { return Ok(false) };
        totals::count_day(db, day, now()).await?;
        Ok(true)
    }

    /// Returns the start of the hour that was current `hours` hours ago, and the hours since then that are not counted.
    /// Hours before the first record are not in the list.
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

/// Returns the days of which all 24 hours are in `hours`. `hours` must be sorted.
fn full_days(hours: &[DateTime<Utc>]) -> Vec<DateTime<Utc>> {
    let mut hours_of: BTreeMap<DateTime<Utc>, usize> = BTreeMap::new();
    for day in hours.iter().filter_map(|hour| hour.duration_trunc(TimeDelta::days(1)).ok()) {
        *hours_of.entry(day).or_default() += 1;
    }
    hours_of.into_iter().filter(|(_, hours)| *hours == 24).map(|(day, _)| day).collect()
}

/// Returns the start and the end of the longest run of consecutive days. `days` must be sorted. Without days, both are
/// `since`.
fn whole_days(since: DateTime<Utc>, days: &[DateTime<Utc>]) -> (DateTime<Utc>, DateTime<Utc>) {
    let day = TimeDelta::days(1);
    let rows = days.chunk_by(|one, next| *one + day == *next);
    let longest = rows.max_by_key(|row| row.len()).and_then(|row| Some((*row.first()?, *row.last()? + day)));
    longest.unwrap_or((since, since))
}

#[cfg(test)]
mod tests {
    use chrono::{DateTime, TimeDelta, Utc};

    use super::{DurationBound, ToolFigures, full_days, whole_days};

    /// Returns the time this many hours after the start of a day.
    fn hour(hours: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::hours(hours)
    }

    #[test]
    fn a_day_is_full_with_all_its_hours() {
        let hours: Vec<_> = (5..100).filter(|at| *at != 50).map(hour).collect();
        assert_eq!(full_days(&hours), [hour(24), hour(72)]);
    }

    #[test]
    fn the_longest_run_of_full_days_is_used() {
        let days = [0, 48, 72, 120].map(hour);
        assert_eq!(whole_days(hour(-3), &days), (hour(48), hour(96)));
        assert_eq!(whole_days(hour(-3), &[]), (hour(-3), hour(-3)));
    }

    #[test]
    fn percentiles_of_durations_are_estimated() {
        let figures = ToolFigures { durations: [(10, 90), (100, 9), (1000, 1)].into(), ..ToolFigures::default() };
        let at_most = |ms| Some(DurationBound::AtMost(ms));
        assert_eq!([50, 90, 91, 99, 100].map(|percent| figures.within(percent)), [10, 10, 100, 100, 1000].map(at_most));
        assert_eq!(ToolFigures::default().within(50), None);
    }
}
