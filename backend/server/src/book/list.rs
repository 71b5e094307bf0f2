//! The list: the calls that a filter asks for, page by page, the newest or the slowest first. It goes through the calls a
//! stretch after the other, for as long as one page may take, and the next page goes on from there.

use chrono::{DateTime, TimeDelta, Utc};
use tallybook_database::{Database, now};
use tallybook_protocol::ToolCallId;
use tokio::time::{Instant, timeout};

use super::{
    Book, BookError,
    filter::Filter,
    limits::{
        CALLS_ON_PAGE, FEW, FIRST_STRETCH, LIST_PATIENCE, LONG_TIME, MAX_PASSED, MAX_SORTED, MAX_STRETCH, SHORT_TIME,
    },
    store::{
        calls::{self, CallRow, Key, Order, Place, PlaceRow, Stretch},
        condition::Condition,
    },
};
use crate::accounts::Caller;

/// A page of the list.
#[derive(Clone, Debug)]
pub(crate) struct CallsPage {
    pub(crate) rows: Vec<CallRow>,
    /// Where the next one begins; `None` when this is the last.
    pub(crate) next: Option<Place>,
    /// False when there was no time to fill the page.
    pub(crate) is_complete: bool,
}

/// Places of calls, in order.
pub(super) struct Found {
    pub(super) rows: Vec<PlaceRow>,
    pub(super) next: Option<Place>,
    pub(super) is_complete: bool,
}

impl Book {
    /// The calls that a filter asks for, after a place. A search in texts that may be others' needs a reason.
    pub(crate) async fn list_calls(
        &self,
        reader: &Caller,
        filter: &Filter,
        order: Order,
        after: Option<Place>,
    ) -> Result<CallsPage, BookError> {
        let slot = timeout(LIST_PATIENCE, self.context.lists.acquire(reader.user)).await;
        let Ok(Some(_slot)) = slot else { return Err(BookError::Busy) };
        let (condition, owner) = self.resolve(filter).await?;
        let db = &self.context.db;
        if filter.is_search() {
            self.look_at_search(reader, owner, filter).await?;
        }
        let found = find(db, &condition, order, after, CALLS_ON_PAGE, Some(self.context.page_time)).await?;
        let ids: Vec<ToolCallId> = found.rows.iter().map(|row| row.id).collect();
        let mut rows = calls::list(db, &ids).await?;
        self.withhold_inputs(reader, &mut rows).await?;
        Ok(CallsPage { rows, next: found.next, is_complete: found.is_complete })
    }
}

/// At most `limit` calls that are asked for, after a place; fewer when the time is over.
pub(super) async fn find(
    db: &Database,
    condition: &Condition,
    order: Order,
    after: Option<Place>,
    limit: usize,
    time: Option<std::time::Duration>,
) -> sqlx::Result<Found> {
    if condition.is_impossible() {
        return Ok(Found { rows: Vec::new(), next: None, is_complete: true });
    }
    let mut after = after.unwrap_or_else(|| beginning(condition, order));
    // One more than fit on the page says whether there is another one.
    let wanted = limit + 1;
    let condition = &calls::along_few(db, condition, FEW).await?;
    if order == Order::Newest
        && let Some(rows) = calls::list_newest_of_few(db, condition, after, count(wanted)).await?
    {
        return Ok(page(rows, limit, order));
    }
    // Along the durations calls are passed over without reading them, unless texts are searched; so few more are sorted first.
    let mut is_sorting_for_later = false;
    if order == Order::Slowest && condition.names_something() {
        let few = if condition.has_words() { MAX_SORTED } else { FEW };
        if calls::is_few(db, condition, few).await? {
            let rows = calls::list_slowest_of_few(db, condition, after, count(wanted)).await?;
            return Ok(page(rows, limit, order));
        }
        is_sorting_for_later = !condition.has_words();
    }
    let start = after;
    let began = Instant::now();
    let (mut rows, mut calls, mut passed) = (Vec::new(), FIRST_STRETCH, 0);
    loop {
        if is_sorting_for_later && passed >= MAX_PASSED {
            is_sorting_for_later = false;
            if calls::is_few(db, condition, MAX_SORTED).await? {
                let rows = calls::list_slowest_of_few(db, condition, start, count(wanted)).await?;
                return Ok(page(rows, limit, order));
            }
        }
        passed += calls;
        let stretch_began = Instant::now();
        let stretch = Stretch { order, after, calls };
        rows.append(&mut stretch.find(db, condition, count(wanted - rows.len())).await?);
        if rows.len() == wanted {
            return Ok(page(rows, limit, order));
        }
        after = match (stretch.end(db, condition).await?, after) {
            (Some(end), _) => end,
            (None, Place::Behind(key, _)) => Place::Below(key),
            (None, Place::Below(_)) => return Ok(Found { rows, next: None, is_complete: true }),
        };
        if time.is_some_and(|time| began.elapsed() >= time) {
            return Ok(Found { rows, next: Some(after), is_complete: false });
        }
        calls = match stretch_began.elapsed() {
            short if short < SHORT_TIME => MAX_STRETCH.min(calls * 4),
            long if long > LONG_TIME => FIRST_STRETCH.max(calls / 2),
            _ => calls,
        };
    }
}

/// A page that is full, or the last one.
fn page(mut rows: Vec<PlaceRow>, limit: usize, order: Order) -> Found {
    let has_more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows.last().filter(|_| has_more).map(|row| row.place(order));
    Found { rows, next, is_complete: true }
}

fn count(calls: usize) -> u32 {
    u32::try_from(calls).unwrap_or(u32::MAX)
}

/// Before everything that is asked for.
fn beginning(condition: &Condition, order: Order) -> Place {
    Place::Below(match order {
        Order::Newest => Key::Time(condition.until().unwrap_or_else(latest)),
        Order::Slowest => Key::Ms(i64::MAX),
    })
}

/// Behind the newest call, also of a replica whose clock is ahead. MariaDB takes no time after 2038.
fn latest() -> DateTime<Utc> {
    now() + TimeDelta::days(1)
}

impl Place {
    /// As it stands in an address.
    pub(crate) fn to_cursor(self) -> String {
        let key = |key| match key {
            Key::Time(time) => format!("t{}", time.timestamp_micros()),
            Key::Ms(ms) => format!("d{ms}"),
        };
        match self {
            Self::Below(at) => key(at),
            Self::Behind(at, id) => format!("{}.{id}", key(at)),
        }
    }

    /// Reads what [`Self::to_cursor`] wrote for the same order.
    pub(crate) fn from_cursor(cursor: &str, order: Order) -> Option<Self> {
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
        Some(id.map_or(Self::Below(key), |id| Self::Behind(key, id)))
    }
}
