//! SQL for lists of calls. Scans the calls in batches, newest or slowest first, to find those that match a condition.
//! Then reads the columns that the list or an export shows.

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_database::{Database, Query, Reader, select};
use tallybook_protocol::{ToolCallId, ToolCallStatus};

use super::{
    condition::{BY_DURATION, Condition, INDEXED},
    sql::Sql,
};
use crate::limits::{FEW, MAX_SORTED};

/// Columns of a [`PositionRow`].
const PLACE: &str = "id, started_at, duration_ms";

/// Order of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// By start time, newest first.
    #[default]
    Newest,
    /// By duration, slowest first.
    Slowest,
}

/// Sort key of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Start time, for [`Order::Newest`].
    Time(DateTime<Utc>),
    /// Duration in milliseconds, for [`Order::Slowest`].
    Ms(i64),
}

/// A position in the list. Keys descend. Calls with equal keys are ordered by ID, highest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListPosition {
    /// After all calls with this key, that is, before the first call with a lower key.
    BelowKey(Key),
    /// After the call with this key and this ID.
    AfterCall(Key, ToolCallId),
}

/// A call in the list.
#[derive(Clone, Debug, sqlx::FromRow)]
#[expect(missing_docs, reason = "fields without a comment are columns of that name")]
pub struct CallRow {
    pub id: ToolCallId,
    pub started_at: DateTime<Utc>,
    pub tool_name: String,
    pub server: String,
    #[sqlx(try_from = "String")]
    pub status: ToolCallStatus,
    pub duration_ms: Option<i64>,
    /// The first 81 characters of the input. `None` if the caller must give a reason before seeing it.
    pub input_start: Option<String>,
    pub input_bytes: i64,
    pub output_bytes: Option<i64>,
    pub error_bytes: Option<i64>,
    /// UUID of the call's conversation.
    pub uuid: String,
    pub title: String,
    pub user_id: UserId,
    pub user_name: String,
    /// `true` if the conversation or its owner's account is deleted.
    pub is_deleted: bool,
}

impl CallRow {
    /// Returns the total size of the input, output and error, in bytes.
    pub fn bytes(&self) -> i64 {
        self.input_bytes + self.output_bytes.unwrap_or(0) + self.error_bytes.unwrap_or(0)
    }
}

/// A call in an export.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct ExportedRow {
    pub(crate) id: ToolCallId,
    pub(crate) started_at: DateTime<Utc>,
    pub(crate) completed_at: Option<DateTime<Utc>>,
    pub(crate) tool_name: String,
    pub(crate) server: String,
    #[sqlx(try_from = "String")]
    pub(crate) status: ToolCallStatus,
    pub(crate) duration_ms: Option<i64>,
    pub(crate) input_text: String,
    pub(crate) output: Option<String>,
    pub(crate) error: Option<String>,
    pub(crate) error_type: Option<String>,
    pub(crate) user_name: String,
    pub(crate) uuid: String,
    pub(crate) model: Option<String>,
    pub(crate) deleted_at: Option<DateTime<Utc>>,
}

/// A call with its sort keys in both orders.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(crate) struct PositionRow {
    pub(crate) id: ToolCallId,
    started_at: DateTime<Utc>,
    duration_ms: Option<i64>,
}

impl PositionRow {
    /// Returns the position after this call in `order`.
    pub(crate) fn position(&self, order: Order) -> ListPosition {
        ListPosition::AfterCall(
            match order {
                Order::Newest => Key::Time(self.started_at),
                Order::Slowest => Key::Ms(self.duration_ms.unwrap_or(0)),
            },
            self.id,
        )
    }
}

/// A batch of the scan: the next calls after a position.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CallRange {
    pub(crate) order: Order,
    pub(crate) after: ListPosition,
    /// Maximum number of calls in the batch.
    pub(crate) calls: u32,
}

impl CallRange {
    /// Returns the SQL after `SELECT` that scans the batch along an index. After [`ListPosition::AfterCall`] the batch
    /// has only calls with the same key; the caller then continues with [`ListPosition::BelowKey`]. Two statements are
    /// needed, because some engines cannot scan both conditions as one range of the index.
    fn inner(&self, condition: &Condition, columns: &'static str) -> Sql {
        let sql = Sql::new(columns);
        let sql = match self.order {
            Order::Newest => sql.then(&condition.along_index()),
            Order::Slowest => sql.text(BY_DURATION).then(&condition.along_durations().unwrap_or_default()),
        };
        let sql = match self.after {
            ListPosition::AfterCall(Key::Time(time), id) => {
                sql.text(" AND started_at = ").value(time).text(" AND id < ").value(id)
            }
            ListPosition::AfterCall(Key::Ms(ms), id) => {
                sql.text(" AND duration_ms = ").value(ms).text(" AND id < ").value(id)
            }
            ListPosition::BelowKey(Key::Time(time)) => {
                sql.text(" AND started_at < ").value(time).then(&condition.not_before())
            }
            ListPosition::BelowKey(Key::Ms(ms)) => sql.text(" AND duration_ms < ").value(ms),
        };
        sql.text(match self.order {
            Order::Newest => " ORDER BY started_at DESC, id DESC LIMIT ",
            Order::Slowest => " ORDER BY duration_ms DESC, id DESC LIMIT ",
        })
    }

    /// Returns at most `limit` matching calls of the batch, in order.
    pub(crate) async fn find(
        &self,
        db: &Database,
        condition: &Condition,
        limit: u32,
    ) -> sqlx::Result<Vec<PositionRow>> {
        let (rest, is_covered) = match self.order {
            Order::Newest => (condition.rest(), condition.is_covered_by_index()),
            Order::Slowest => (condition.all(), !condition.needs_rows()),
        };
        let sql = if rest.is_empty() {
            self.inner(condition, PLACE).value(i64::from(self.calls.min(limit)))
        } else {
            let inner = self.inner(condition, if is_covered { INDEXED } else { "id" }).value(i64::from(self.calls));
            let sql = of_those(&inner, is_covered).text(" WHERE 1 = 1").then(&rest);
            sql.text(match self.order {
                Order::Newest => " ORDER BY t.started_at DESC, t.id DESC LIMIT ",
                Order::Slowest => " ORDER BY t.duration_ms DESC, t.id DESC LIMIT ",
            })
            .value(i64::from(limit))
        };
        select(db, &sql).fetch_all().await
    }

    /// Returns the position after the batch. Returns `None` if the batch is not full, that is, if it reaches the end of
    /// the range that [`Self::inner`] scans.
    pub(crate) async fn end(&self, db: &Database, condition: &Condition) -> sqlx::Result<Option<ListPosition>> {
        let sql = self.inner(condition, PLACE).value(1).text(" OFFSET ");
        let sql = sql.value(i64::from(self.calls) - 1);
        let row: Option<PositionRow> = select(db, &sql).fetch_optional().await?;
        Ok(row.map(|row| row.position(self.order)))
    }
}

/// Creates a query from the SQL after `SELECT`.
fn select<'db>(db: &'db Database, sql: &Sql) -> Query<&'db Reader> {
    let mut query = db.reader().query(select!("SELECT "));
    sql.push_to(&mut query);
    query
}

/// Returns SQL that selects the [`PositionRow`] columns of the calls that `inner` finds, under the table alias `t`. If
/// `is_covered`, `inner` selects the columns [`INDEXED`], so conditions can be appended without a join. Otherwise
/// `inner` selects only IDs, and the result joins `tool_calls`. Neither `inner` nor the result contains the leading
/// `SELECT`.
fn of_those(inner: &Sql, is_covered: bool) -> Sql {
    let sql = Sql::new("t.id, t.started_at, t.duration_ms FROM (SELECT ").then(inner);
    sql.text(if is_covered { ") t" } else { ") b JOIN tool_calls t ON t.id = b.id" })
}

/// Returns `true` if at most `limit` calls match the leading column and the time range of the condition.
pub(crate) async fn is_few(db: &Database, condition: &Condition, limit: u32) -> sqlx::Result<bool> {
    let sql = Sql::new("COUNT(*) FROM (SELECT id").then(&condition.along_index());
    let sql =
        sql.then(&condition.not_before()).then(&condition.not_after()).text(" LIMIT ").value(i64::from(limit) + 1);
    let sql = sql.text(") b");
    let count: i64 = select(db, &sql).fetch_value().await?;
    Ok(count <= i64::from(limit))
}

/// Chooses the index to scan: makes the first selective column the leading column of the condition. A column is
/// selective if at most `few` calls match it. If no column is, returns the condition unchanged. A rare value is thus
/// found without scanning all calls that match a common value.
pub(crate) async fn choose_selective_index(db: &Database, condition: &Condition, few: u32) -> sqlx::Result<Condition> {
    for way in condition.ways() {
        if is_few(db, &way, few).await? {
            return Ok(way);
        }
    }
    Ok(condition.clone())
}

/// Returns the newest matching calls after a position, sorted by the database. Returns `None` if the condition has no
/// bound on the duration, or if too many calls match that bound.
pub(crate) async fn list_newest_of_few(
    db: &Database,
    condition: &Condition,
    after: ListPosition,
    limit: u32,
) -> sqlx::Result<Option<Vec<PositionRow>>> {
    let Some(durations) = condition.along_durations() else { return Ok(None) };
    let is_covered = !condition.needs_rows();
    let few = if is_covered { MAX_SORTED } else { FEW };
    // The second statement reads up to twice as many calls as the limit, because calls may be added after the first
    // one.
    let calls = |columns: &'static str, limit: u32| {
        let sql = Sql::new(columns).text(BY_DURATION).then(&durations);
        sql.text(" LIMIT ").value(i64::from(limit))
    };
    let sql = Sql::new("COUNT(*) FROM (SELECT ").then(&calls("id", few + 1)).text(") b");
    let count: i64 = select(db, &sql).fetch_value().await?;
    if count > i64::from(few) {
        return Ok(None);
    }
    let inner = calls(if is_covered { INDEXED } else { "id" }, 2 * few);
    let sql = of_those(&inner, is_covered).text(" WHERE 1 = 1").then(&condition.all());
    let sql = match after {
        ListPosition::AfterCall(Key::Time(time), id) => {
            let sql = sql.text(" AND (t.started_at < ").value(time).text(" OR (t.started_at = ").value(time);
            sql.text(" AND t.id < ").value(id).text("))")
        }
        ListPosition::BelowKey(Key::Time(time)) => sql.text(" AND t.started_at < ").value(time),
        ListPosition::AfterCall(Key::Ms(_), _) | ListPosition::BelowKey(Key::Ms(_)) => sql,
    };
    let sql = sql.text(" ORDER BY t.started_at DESC, t.id DESC LIMIT ").value(i64::from(limit));
    select(db, &sql).fetch_all().await.map(Some)
}

/// Returns the slowest matching calls after a position, sorted by the database. The caller must check that few calls
/// match the leading column ([`is_few`]).
pub(crate) async fn list_slowest_of_few(
    db: &Database,
    condition: &Condition,
    after: ListPosition,
    limit: u32,
) -> sqlx::Result<Vec<PositionRow>> {
    let is_covered = condition.is_covered_by_index();
    let inner = Sql::new(if is_covered { INDEXED } else { "id" });
    let inner = inner.then(&condition.along_index()).then(&condition.not_before()).then(&condition.not_after());
    // COALESCE keeps the engine from using the index of durations.
    let sql = of_those(&inner, is_covered).text(" WHERE COALESCE(t.duration_ms, -1) >= 0").then(&condition.rest());
    let sql = match after {
        ListPosition::AfterCall(Key::Ms(ms), id) => {
            let sql = sql.text(" AND (COALESCE(t.duration_ms, -1) < ").value(ms);
            let sql = sql.text(" OR (COALESCE(t.duration_ms, -1) = ").value(ms);
            sql.text(" AND t.id < ").value(id).text("))")
        }
        ListPosition::BelowKey(Key::Ms(ms)) => sql.text(" AND COALESCE(t.duration_ms, -1) < ").value(ms),
        ListPosition::AfterCall(Key::Time(_), _) | ListPosition::BelowKey(Key::Time(_)) => sql,
    };
    let sql = sql.text(" ORDER BY COALESCE(t.duration_ms, -1) DESC, t.id DESC LIMIT ").value(i64::from(limit));
    select(db, &sql).fetch_all().await
}

/// Returns the rows of the list for these calls, in the order of `ids`. Calls that were purged in the meantime are
/// missing.
pub(crate) async fn list(db: &Database, ids: &[ToolCallId]) -> sqlx::Result<Vec<CallRow>> {
    let mut rows: Vec<CallRow> = db
        .reader()
        .list_by_ids(
            select!(
                "SELECT t.id, t.started_at, t.tool_name, t.server, t.status, t.duration_ms, \
             SUBSTR(t.input_text, 1, 81) AS input_start, OCTET_LENGTH(t.input_text) AS input_bytes, \
             OCTET_LENGTH(t.output) AS output_bytes, OCTET_LENGTH(t.error) AS error_bytes, c.uuid, \
             c.title, c.user_id, u.name AS user_name, COALESCE(c.deleted_at, u.deleted_at) IS NOT NULL \
             AS is_deleted FROM tool_calls t JOIN messages m ON m.id = t.message_id \
             JOIN conversations c ON c.id = m.conversation_id JOIN users u ON u.id = c.user_id \
             WHERE t.id IN ("
            ),
            ids,
            ")",
        )
        .await?;
    rows.sort_by_key(|row| ids.iter().position(|id| *id == row.id));
    Ok(rows)
}

/// Returns the rows of an export for these calls, in the order of `ids`. Calls that were purged in the meantime are
/// missing.
pub(crate) async fn list_whole(db: &Database, ids: &[ToolCallId]) -> sqlx::Result<Vec<ExportedRow>> {
    let mut rows: Vec<ExportedRow> = db
        .reader()
        .list_by_ids(
            select!(
                "SELECT t.id, t.started_at, t.completed_at, t.tool_name, t.server, t.status, t.duration_ms, \
             t.input_text, t.output, t.error, t.error_type, u.name AS user_name, c.uuid, m.model, \
             COALESCE(c.deleted_at, u.deleted_at) AS deleted_at FROM tool_calls t \
             JOIN messages m ON m.id = t.message_id JOIN conversations c ON c.id = m.conversation_id \
             JOIN users u ON u.id = c.user_id WHERE t.id IN ("
            ),
            ids,
            ")",
        )
        .await?;
    rows.sort_by_key(|row| ids.iter().position(|id| *id == row.id));
    Ok(rows)
}
