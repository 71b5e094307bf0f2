//! Lists the calls that match a filter, page by page, the newest or the slowest first. A page scans the calls in
//! batches until its time limit; the next page continues from there.

use chrono::{DateTime, TimeDelta, Utc};
use tallybook_accounts::Caller;
use tallybook_database::{Database, now};
use tallybook_protocol::ToolCallId;
use tokio::time::{Instant, timeout};

use super::{
    ToolHistory, ToolHistoryError,
    filter::Filter,
    limits::{
        CALLS_ON_PAGE, FEW, FIRST_RANGE, LIST_TIMEOUT, LONG_TIME, MAX_RANGE, MAX_SCANNED_BEFORE_SORT, MAX_SORTED,
        SHORT_TIME,
    },
    store::{
        calls::{self, CallRange, CallRow, Key, ListPosition, Order, PositionRow},
        condition::Condition,
    },
};

/// A page of the list.
#[derive(Clone, Debug)]
pub struct CallsPage {
    /// The calls, in order.
    pub rows: Vec<CallRow>,
    /// Start of the next page; `None` on the last page.
    pub next: Option<ListPosition>,
    /// `false` if the time limit ended the page before it was full.
    pub is_complete: bool,
}

/// Positions of the matching calls, in order.
pub(crate) struct Found {
    pub(crate) rows: Vec<PositionRow>,
    pub(crate) next: Option<ListPosition>,
    is_complete: bool,
}

impl ToolHistory {
    /// Lists the calls that match a filter, after a position. A text search that can match other users' calls needs a
    /// reason.
    pub async fn list_calls(
        &self,
        caller: &Caller,
        filter: &Filter,
        order: Order,
        after: Option<ListPosition>,
    ) -> Result<CallsPage, ToolHistoryError> {
        let slot = timeout(LIST_TIMEOUT, self.context.lists.acquire(caller.user)).await;
        let Ok(Some(_slot)) = slot else { return Err(ToolHistoryError::Busy) };
        let (condition, owner) = self.resolve(filter).await?;
        let db = &self.context.db;
        if filter.is_search() {
            self.record_search(caller, owner, filter).await?;
        }
        let found = find(db, &condition, order, after, CALLS_ON_PAGE, Some(self.context.page_time)).await?;
        let ids: Vec<ToolCallId> = found.rows.iter().map(|row| row.id).collect();
        let mut rows = calls::list(db, &ids).await?;
        self.withhold_inputs(caller, &mut rows).await?;
        Ok(CallsPage { rows, next: found.next, is_complete: found.is_complete })
    }
}

/// Returns at most `limit` matching calls after a position; fewer if the time limit is reached.
pub(crate) async fn find(
    db: &Database,
    condition: &Condition,
    order: Order,
    after: Option<ListPosition>,
    limit: usize,
    time: Option<std::time::Duration>,
) -> sqlx::Result<Found> {
    if condition.is_impossible() {
        return Ok(Found { rows: Vec::new(), next: None, is_complete: true });
    }
    let mut after = after.unwrap_or_else(|| first_position(condition, order));
    // Reads one more call than fits on the page, to find out whether there is a next page.
    let wanted = limit + 1;
    let condition = &calls::choose_selective_index(db, condition, FEW).await?;
    if order == Order::Newest
        && let Some(rows) = calls::list_newest_of_few(db, condition, after, count(wanted)).await?
    {
        return Ok(page(rows, limit, order));
    }
    // A scan by duration tests calls in the index, without reading their rows, unless texts are searched. Because a
    // scan without a text search is cheap, sorting is at first preferred only for few calls.
    let mut is_sorting_for_later = false;
    if order == Order::Slowest && condition.names_something() {
        let few = if condition.needs_rows() { MAX_SORTED } else { FEW };
        if calls::is_few(db, condition, few).await? {
            let rows = calls::list_slowest_of_few(db, condition, after, count(wanted)).await?;
            return Ok(page(rows, limit, order));
        }
        is_sorting_for_later = !condition.needs_rows();
    }
    let start = after;
    let began = Instant::now();
    let (mut rows, mut calls, mut passed) = (Vec::new(), FIRST_RANGE, 0);
    loop {
        if is_sorting_for_later && passed >= MAX_SCANNED_BEFORE_SORT {
            is_sorting_for_later = false;
            if calls::is_few(db, condition, MAX_SORTED).await? {
                let rows = calls::list_slowest_of_few(db, condition, start, count(wanted)).await?;
                return Ok(page(rows, limit, order));
            }
        }
        passed += calls;
        let range_began = Instant::now();
        let range = CallRange { order, after, calls };
        rows.append(&mut range.find(db, condition, count(wanted - rows.len())).await?);
        if rows.len() == wanted {
            return Ok(page(rows, limit, order));
        }
        after = match (range.end(db, condition).await?, after) {
            (Some(end), _) => end,
            (None, ListPosition::AfterCall(key, _)) => ListPosition::BelowKey(key),
            (None, ListPosition::BelowKey(_)) => return Ok(Found { rows, next: None, is_complete: true }),
        };
        if time.is_some_and(|time| began.elapsed() >= time) {
            return Ok(Found { rows, next: Some(after), is_complete: false });
        }
        calls = match range_began.elapsed() {
            short if short < SHORT_TIME => MAX_RANGE.min(calls * 4),
            long if long > LONG_TIME => FIRST_RANGE.max(calls / 2),
            _ => calls,
        };
    }
}

/// Makes a page of at most `limit` calls. If there is one row more, another page follows; otherwise this is the last
/// one.
fn page(mut rows: Vec<PositionRow>, limit: usize, order: Order) -> Found {
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| has_more).map(|row| row.position(order));
    Found { rows, next, is_complete: true }
}

fn count(calls: usize) -> u32 {
    u32::try_from(calls).unwrap_or(u32::MAX)
}

/// Returns the position before all matching calls.
fn first_position(condition: &Condition, order: Order) -> ListPosition {
    ListPosition::BelowKey(match order {
        Order::Newest => Key::Time(condition.until().unwrap_or_else(latest)),
        Order::Slowest => Key::Ms(i64::MAX),
    })
}

/// Returns a time later than any call, even if the clock of another replica is ahead. It is not the maximum time,
/// because MariaDB accepts no time after 2038.
fn latest() -> DateTime<Utc> {
    now() + TimeDelta::days(1)
}

impl ListPosition {
    /// Returns the form of the position that is used in URLs.
    pub fn to_cursor(self) -> String {
        let key = |key| match key {
            Key::Time(time) => format!("t{}", time.timestamp_micros()),
            Key::Ms(ms) => format!("d{ms}"),
        };
        match self {
            Self::BelowKey(at) => key(at),
            Self::AfterCall(at, id) => format!("{}.{id}", key(at)),
        }
    }

    /// Parses a cursor of [`Self::to_cursor`] for the same order; `None` if it is invalid.
    pub fn from_cursor(cursor: &str, order: Order) -> Option<Self> {
        let (key, id) = match cursor.split_once('.') {
            Some((key, id)) => (key, Some(ToolCallId(id.parse().ok()?))),
            None => (cursor, None),
        };
        let key = match order {
            Order::Newest => {
                let time = DateTime::from_timestamp_micros(key.strip_prefix('t')?.parse().ok()?)?;
                let earliest = DateTime::UNIX_EPOCH + TimeDelta::days(1);
                Key::Time(Some(time).filter(|time| (earliest..=latest()).contains(time))?)
            }
            Order::Slowest => Key::Ms(key.strip_prefix('d')?.parse().ok()?),
        };
        Some(id.map_or(Self::BelowKey(key), |id| Self::AfterCall(key, id)))
    }
}
