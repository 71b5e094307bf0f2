//! SQL that goes through the calls in an order, a stretch after the other, and reads what a list shows of those that were
//! found.

use chrono::{DateTime, Utc};
use tallybook_database::{Database, Query, Reader, Select, select};
use tallybook_protocol::{ToolCallId, ToolCallStatus};

use super::{
    condition::{BY_DURATION, Condition, INDEXED},
    sql::{Sql, list_by_ids},
};
use crate::{
    accounts::UserId,
    book::limits::{FEW, MAX_SORTED},
};

/// What a place is made of.
const PLACE: &str = "id, started_at, duration_ms";

/// What is shown of a call in a list.
const LIST: Select = select!(
    "SELECT t.id, t.started_at, t.tool_name, t.server, t.status, t.duration_ms, \
     SUBSTR(t.input_text, 1, 81) AS input_start, OCTET_LENGTH(t.input_text) AS input_bytes, \
     OCTET_LENGTH(t.output) AS output_bytes, OCTET_LENGTH(t.error) AS error_bytes, \
     c.uuid, c.title, c.user_id, u.name AS user_name, \
     COALESCE(c.deleted_at, u.deleted_at) IS NOT NULL AS is_deleted \
     FROM tool_calls t JOIN messages m ON m.id = t.message_id JOIN conversations c ON c.id = m.conversation_id \
     JOIN users u ON u.id = c.user_id WHERE t.id IN ("
);

/// What is exported of a call.
const LIST_WHOLE: Select = select!(
    "SELECT t.id, t.started_at, t.completed_at, t.tool_name, t.server, t.status, t.duration_ms, \
     t.input_text, t.output, t.error, t.error_type, u.name AS user_name, c.uuid, m.model, \
     COALESCE(c.deleted_at, u.deleted_at) AS deleted_at \
     FROM tool_calls t JOIN messages m ON m.id = t.message_id JOIN conversations c ON c.id = m.conversation_id \
     JOIN users u ON u.id = c.user_id WHERE t.id IN ("
);

/// In which order calls are gone through: the newest, or the slowest, first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Order {
    #[default]
    Newest,
    Slowest,
}

/// What the order goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Time(DateTime<Utc>),
    Ms(i64),
}

/// How far calls have been gone through. Those of one key are in the order of their ids, the highest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Behind everything that has this key, and those above it.
    Below(Key),
    /// Behind the call that has this key and this id.
    Behind(Key, ToolCallId),
}

/// A call as a list shows it.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct CallRow {
    pub(crate) id: ToolCallId,
    pub(crate) started_at: DateTime<Utc>,
    pub(crate) tool_name: String,
    pub(crate) server: String,
    #[sqlx(try_from = "String")]
    pub(crate) status: ToolCallStatus,
    pub(crate) duration_ms: Option<i64>,
    /// Its first 81 characters; `None` for a reader who may not see them.
    pub(crate) input_start: Option<String>,
    pub(crate) input_bytes: i64,
    pub(crate) output_bytes: Option<i64>,
    pub(crate) error_bytes: Option<i64>,
    /// Of its conversation.
    pub(crate) uuid: String,
    pub(crate) title: String,
    pub(crate) user_id: UserId,
    pub(crate) user_name: String,
    /// Whether its owner deleted it.
    pub(crate) is_deleted: bool,
}

impl CallRow {
    /// Bytes of its texts.
    pub(crate) fn bytes(&self) -> i64 {
        self.input_bytes + self.output_bytes.unwrap_or(0) + self.error_bytes.unwrap_or(0)
    }
}

/// A call as it is exported.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(in crate::book) struct ExportedRow {
    pub(in crate::book) id: ToolCallId,
    pub(in crate::book) started_at: DateTime<Utc>,
    pub(in crate::book) completed_at: Option<DateTime<Utc>>,
    pub(in crate::book) tool_name: String,
    pub(in crate::book) server: String,
    #[sqlx(try_from = "String")]
    pub(in crate::book) status: ToolCallStatus,
    pub(in crate::book) duration_ms: Option<i64>,
    pub(in crate::book) input_text: String,
    pub(in crate::book) output: Option<String>,
    pub(in crate::book) error: Option<String>,
    pub(in crate::book) error_type: Option<String>,
    pub(in crate::book) user_name: String,
    pub(in crate::book) uuid: String,
    pub(in crate::book) model: Option<String>,
    pub(in crate::book) deleted_at: Option<DateTime<Utc>>,
}

/// A call's place in both orders.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(in crate::book) struct PlaceRow {
    pub(in crate::book) id: ToolCallId,
    started_at: DateTime<Utc>,
    duration_ms: Option<i64>,
}

impl PlaceRow {
    /// Behind this call.
    pub(in crate::book) fn place(&self, order: Order) -> Place {
        Place::Behind(
            match order {
                Order::Newest => Key::Time(self.started_at),
                Order::Slowest => Key::Ms(self.duration_ms.unwrap_or(0)),
            },
            self.id,
        )
    }
}

/// Some of the calls that come next.
#[derive(Clone, Copy, Debug)]
pub(in crate::book) struct Stretch {
    pub(in crate::book) order: Order,
    pub(in crate::book) after: Place,
    /// How many calls are gone through.
    pub(in crate::book) calls: u32,
}

impl Stretch {
    /// The calls that are gone through, along an index: first those that share the key of the place, then those below it.
    /// Either is a range of the index on every engine, which both in one statement are not. Returns the part of the statement after `SELECT`.
    fn inner(&self, condition: &Condition, columns: &'static str) -> Sql {
        let sql = Sql::new(columns);
        let sql = match self.order {
            Order::Newest => sql.then(&condition.along_index()),
            Order::Slowest => sql.text(BY_DURATION).then(&condition.along_durations().unwrap_or_default()),
        };
        let sql = match self.after {
            Place::Behind(Key::Time(time), id) => {
                sql.text(" AND started_at = ").value(time).text(" AND id < ").value(id)
            }
            Place::Behind(Key::Ms(ms), id) => sql.text(" AND duration_ms = ").value(ms).text(" AND id < ").value(id),
            Place::Below(Key::Time(time)) => sql.text(" AND started_at < ").value(time).then(&condition.not_before()),
            Place::Below(Key::Ms(ms)) => sql.text(" AND duration_ms < ").value(ms),
        };
        sql.text(match self.order {
            Order::Newest => " ORDER BY started_at DESC, id DESC LIMIT ",
            Order::Slowest => " ORDER BY duration_ms DESC, id DESC LIMIT ",
        })
    }

    /// Of the stretch, at most `limit` of the calls that are asked for, in order.
    pub(in crate::book) async fn find(
        &self,
        db: &Database,
        condition: &Condition,
        limit: u32,
    ) -> sqlx::Result<Vec<PlaceRow>> {
        let (rest, is_told) = match self.order {
            Order::Newest => (condition.rest(), condition.is_told_by_index()),
            Order::Slowest => (condition.all(), !condition.has_words()),
        };
        let sql = if rest.is_empty() {
            self.inner(condition, PLACE).value(i64::from(self.calls.min(limit)))
        } else {
            let inner = self.inner(condition, if is_told { INDEXED } else { "id" }).value(i64::from(self.calls));
            let sql = of_those(&inner, is_told).text(" WHERE 1 = 1").then(&rest);
            sql.text(match self.order {
                Order::Newest => " ORDER BY t.started_at DESC, t.id DESC LIMIT ",
                Order::Slowest => " ORDER BY t.duration_ms DESC, t.id DESC LIMIT ",
            })
            .value(i64::from(limit))
        };
        select(db, &sql).fetch_all().await
    }

    /// Where it ends; `None` when no call comes after it that has a key like those in it.
    pub(in crate::book) async fn end(&self, db: &Database, condition: &Condition) -> sqlx::Result<Option<Place>> {
        let sql = self.inner(condition, PLACE).value(1).text(" OFFSET ");
        let sql = sql.value(i64::from(self.calls) - 1);
        let row: Option<PlaceRow> = select(db, &sql).fetch_optional().await?;
        Ok(row.map(|row| row.place(self.order)))
    }
}

/// Starts a statement. `sql` is its part after `SELECT`.
fn select<'db>(db: &'db Database, sql: &Sql) -> Query<&'db Reader> {
    let mut query = db.reader().query(select!("SELECT "));
    sql.push_to(&mut query);
    query
}

/// Places of the calls `t` that `inner` finds: with all columns of a filter from an index, or else with their ids. `inner`, and
/// the result, are parts of statements after `SELECT`.
fn of_those(inner: &Sql, is_told: bool) -> Sql {
    let sql = Sql::new("t.id, t.started_at, t.duration_ms FROM (SELECT ").then(inner);
    sql.text(if is_told { ") t" } else { ") b JOIN tool_calls t ON t.id = b.id" })
}

/// Whether no more than `limit` calls are left by time and by what the index of the condition says.
pub(in crate::book) async fn is_few(db: &Database, condition: &Condition, limit: u32) -> sqlx::Result<bool> {
    let sql = Sql::new("COUNT(*) FROM (SELECT id").then(&condition.along_index());
    let sql =
        sql.then(&condition.not_before()).then(&condition.not_after()).text(" LIMIT ").value(i64::from(limit) + 1);
    let sql = sql.text(") b");
    let count: i64 = select(db, &sql).fetch_value().await?;
    Ok(count <= i64::from(limit))
}

/// The condition along the index of the first thing that it names and few calls have, where there is such a thing: what is
/// rare is found without going through what is common.
pub(in crate::book) async fn along_few(db: &Database, condition: &Condition, few: u32) -> sqlx::Result<Condition> {
    for way in condition.ways() {
        if is_few(db, &way, few).await? {
            return Ok(way);
        }
    }
    Ok(condition.clone())
}

/// The newest calls after a place, sorted by the database, where few took as long as the condition says; `None` where it says
/// nothing of that, or more did.
pub(in crate::book) async fn list_newest_of_few(
    db: &Database,
    condition: &Condition,
    after: Place,
    limit: u32,
) -> sqlx::Result<Option<Vec<PlaceRow>>> {
    let Some(durations) = condition.along_durations() else { return Ok(None) };
    let is_told = !condition.has_words();
    let few = if is_told { MAX_SORTED } else { FEW };
    // Some may be added meanwhile.
    let calls = |columns: &'static str, limit: u32| {
        let sql = Sql::new(columns).text(BY_DURATION).then(&durations);
        sql.text(" LIMIT ").value(i64::from(limit))
    };
    let sql = Sql::new("COUNT(*) FROM (SELECT ").then(&calls("id", few + 1)).text(") b");
    let count: i64 = select(db, &sql).fetch_value().await?;
    if count > i64::from(few) {
        return Ok(None);
    }
    let inner = calls(if is_told { INDEXED } else { "id" }, 2 * few);
    let sql = of_those(&inner, is_told).text(" WHERE 1 = 1").then(&condition.all());
    let sql = match after {
        Place::Behind(Key::Time(time), id) => {
            let sql = sql.text(" AND (t.started_at < ").value(time).text(" OR (t.started_at = ").value(time);
            sql.text(" AND t.id < ").value(id).text("))")
        }
        Place::Below(Key::Time(time)) => sql.text(" AND t.started_at < ").value(time),
        Place::Behind(Key::Ms(_), _) | Place::Below(Key::Ms(_)) => sql,
    };
    let sql = sql.text(" ORDER BY t.started_at DESC, t.id DESC LIMIT ").value(i64::from(limit));
    select(db, &sql).fetch_all().await.map(Some)
}

/// The slowest of few calls after a place, sorted by the database.
pub(in crate::book) async fn list_slowest_of_few(
    db: &Database,
    condition: &Condition,
    after: Place,
    limit: u32,
) -> sqlx::Result<Vec<PlaceRow>> {
    let is_told = condition.is_told_by_index();
    let inner = Sql::new(if is_told { INDEXED } else { "id" });
    let inner = inner.then(&condition.along_index()).then(&condition.not_before()).then(&condition.not_after());
    // Hidden from the index of durations, along which an engine might go instead.
    let sql = of_those(&inner, is_told).text(" WHERE COALESCE(t.duration_ms, -1) >= 0").then(&condition.rest());
    let sql = match after {
        Place::Behind(Key::Ms(ms), id) => {
            let sql = sql.text(" AND (COALESCE(t.duration_ms, -1) < ").value(ms);
            let sql = sql.text(" OR (COALESCE(t.duration_ms, -1) = ").value(ms);
            sql.text(" AND t.id < ").value(id).text("))")
        }
        _ => sql,
    };
    let sql = sql.text(" ORDER BY COALESCE(t.duration_ms, -1) DESC, t.id DESC LIMIT ").value(i64::from(limit));
    select(db, &sql).fetch_all().await
}

/// What a list shows of calls, in this order. One that was deleted meanwhile is not among them.
pub(in crate::book) async fn list(db: &Database, ids: &[ToolCallId]) -> sqlx::Result<Vec<CallRow>> {
    let mut rows: Vec<CallRow> = list_by_ids(db, LIST, ids, ")", None).await?;
    rows.sort_by_key(|row| ids.iter().position(|id| *id == row.id));
    Ok(rows)
}

/// What is exported of calls, in this order.
pub(in crate::book) async fn list_whole(db: &Database, ids: &[ToolCallId]) -> sqlx::Result<Vec<ExportedRow>> {
    let mut rows: Vec<ExportedRow> = list_by_ids(db, LIST_WHOLE, ids, ")", None).await?;
    rows.sort_by_key(|row| ids.iter().position(|id| *id == row.id));
    Ok(rows)
}
