//! SQL that counts: calls, durations, tokens and costs of each hour that is over. Counting an hour goes through its calls once;
//! reading a month then goes through some thousands of rows instead of a million. What is counted is summed up in `sums`.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use sqlx::error::DatabaseError;
use tallybook_database::{Database, Select, Transaction, select};
use tallybook_protocol::ToolCallStatus;

use super::sql::list_by_ids;
use crate::accounts::UserId;

/// How many people are asked for by one statement.
const NAMES_AT_ONCE: usize = 500;

const LIST_COUNTED: &str = "SELECT hour FROM counted_hours WHERE hour >= ? ORDER BY hour";

const FIND_FIRST: &str = "SELECT MIN(first_at) FROM \
     (SELECT MIN(started_at) AS first_at FROM tool_calls WHERE started_at >= ? \
     UNION ALL SELECT MIN(created_at) AS first_at FROM model_calls WHERE created_at >= ? \
     UNION ALL SELECT MIN(created_at) AS first_at FROM plain_calls WHERE created_at >= ?) AS firsts";

const CLAIM: &str = "INSERT INTO counted_hours (hour, counted_at) VALUES (?, ?)";

const LIST_OPEN: &str = "SELECT started_at FROM tool_calls WHERE status IN ('pending', 'awaiting_approval') \
     AND started_at >= ? LIMIT ?";

const COUNT_CALLS: &str = "SELECT tool_name, status, COUNT(*) AS calls FROM tool_calls \
     WHERE started_at >= ? AND started_at < ? GROUP BY tool_name, status";

// Each duration counts for the next of these, which is at most half as much again.
const COUNT_DURATIONS: &str = "SELECT tool_name, CASE WHEN duration_ms <= 1 THEN 1 WHEN duration_ms <= 2 THEN 2 \
     WHEN duration_ms <= 3 THEN 3 WHEN duration_ms <= 5 THEN 5 WHEN duration_ms <= 7 THEN 7 WHEN duration_ms <= 10 THEN 10 \
     WHEN duration_ms <= 15 THEN 15 WHEN duration_ms <= 20 THEN 20 WHEN duration_ms <= 30 THEN 30 \
     WHEN duration_ms <= 50 THEN 50 WHEN duration_ms <= 70 THEN 70 WHEN duration_ms <= 100 THEN 100 \
     WHEN duration_ms <= 150 THEN 150 WHEN duration_ms <= 200 THEN 200 WHEN duration_ms <= 300 THEN 300 \
     WHEN duration_ms <= 500 THEN 500 WHEN duration_ms <= 700 THEN 700 WHEN duration_ms <= 1000 THEN 1000 \
     WHEN duration_ms <= 1500 THEN 1500 WHEN duration_ms <= 2000 THEN 2000 WHEN duration_ms <= 3000 THEN 3000 \
     WHEN duration_ms <= 5000 THEN 5000 WHEN duration_ms <= 7000 THEN 7000 WHEN duration_ms <= 10000 THEN 10000 \
     WHEN duration_ms <= 15000 THEN 15000 WHEN duration_ms <= 20000 THEN 20000 WHEN duration_ms <= 30000 THEN 30000 \
     WHEN duration_ms <= 60000 THEN 60000 WHEN duration_ms <= 120000 THEN 120000 WHEN duration_ms <= 300000 THEN 300000 \
     WHEN duration_ms <= 600000 THEN 600000 ELSE 3600000 END AS up_to_ms, COUNT(*) AS calls FROM tool_calls \
     WHERE started_at >= ? AND started_at < ? AND duration_ms IS NOT NULL GROUP BY tool_name, up_to_ms";

// Sums of integers are decimals to MySQL.
const COUNT_MODELS: &str = "SELECT user_id, model_name, COUNT(*) AS calls, \
     CAST(SUM(input_tokens) AS SIGNED) AS input_tokens, CAST(SUM(output_tokens) AS SIGNED) AS output_tokens, \
     CAST(COALESCE(SUM(cost_nanos), 0) AS SIGNED) AS cost_nanos FROM \
     (SELECT c.user_id AS user_id, COALESCE(m.model, k.model) AS model_name, k.input_tokens, k.output_tokens, k.cost_nanos \
     FROM model_calls k JOIN messages m ON m.id = k.message_id JOIN conversations c ON c.id = m.conversation_id \
     WHERE k.created_at >= ? AND k.created_at < ? \
     UNION ALL SELECT user_id, model, input_tokens, output_tokens, cost_nanos FROM plain_calls \
     WHERE created_at >= ? AND created_at < ?) AS all_calls GROUP BY user_id, model_name";

const COUNT_PURPOSES: &str = "SELECT purpose, COUNT(*) AS calls, CAST(SUM(input_tokens) AS SIGNED) AS input_tokens, \
     CAST(SUM(output_tokens) AS SIGNED) AS output_tokens, CAST(COALESCE(SUM(cost_nanos), 0) AS SIGNED) AS cost_nanos FROM \
     (SELECT CAST(purpose AS CHAR(32)) AS purpose, input_tokens, output_tokens, cost_nanos FROM model_calls \
     WHERE created_at >= ? AND created_at < ? \
     UNION ALL SELECT 'plain', input_tokens, output_tokens, cost_nanos FROM plain_calls \
     WHERE created_at >= ? AND created_at < ?) AS all_calls GROUP BY purpose";

const CREATE_CALLS: &str = "INSERT INTO tool_call_hours (hour, tool_name, status, calls) VALUES (?, ?, ?, ?)";

const CREATE_DURATIONS: &str = "INSERT INTO tool_duration_hours (hour, tool_name, up_to_ms, calls) VALUES (?, ?, ?, ?)";

const CREATE_MODELS: &str = "INSERT INTO model_call_hours \
     (hour, user_id, model, calls, input_tokens, output_tokens, cost_nanos) VALUES (?, ?, ?, ?, ?, ?, ?)";

const CREATE_PURPOSES: &str = "INSERT INTO purpose_call_hours \
     (hour, purpose, calls, input_tokens, output_tokens, cost_nanos) VALUES (?, ?, ?, ?, ?, ?)";

const LIST_NAMES: Select = select!("SELECT id, name FROM users WHERE id IN (");

/// Calls of a tool that stand so.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(in crate::book) struct CallsRow {
    pub(in crate::book) tool_name: String,
    #[sqlx(try_from = "String")]
    pub(in crate::book) status: ToolCallStatus,
    pub(in crate::book) calls: i64,
}

/// Calls of an hour that stand so.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(in crate::book) struct CallsOfHourRow {
    pub(in crate::book) hour: DateTime<Utc>,
    #[sqlx(try_from = "String")]
    pub(in crate::book) status: ToolCallStatus,
    pub(in crate::book) calls: i64,
}

/// Calls of a tool that took no longer.
pub(in crate::book) type DurationsRow = (String, i64, i64);

/// What model calls took.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(in crate::book) struct SpentRow {
    pub(in crate::book) calls: i64,
    pub(in crate::book) input_tokens: i64,
    pub(in crate::book) output_tokens: i64,
    pub(in crate::book) cost_nanos: i64,
}

/// Model calls of a person's.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(in crate::book) struct ModelsRow {
    pub(in crate::book) user_id: UserId,
    pub(in crate::book) model_name: String,
    #[sqlx(flatten)]
    pub(in crate::book) spent: SpentRow,
}

/// Model calls for one purpose.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(in crate::book) struct PurposesRow {
    pub(in crate::book) purpose: String,
    #[sqlx(flatten)]
    pub(in crate::book) spent: SpentRow,
}

/// What there was in one hour.
#[derive(Clone, Debug, Default)]
pub(in crate::book) struct HourRows {
    pub(in crate::book) calls: Vec<CallsRow>,
    pub(in crate::book) durations: Vec<DurationsRow>,
    pub(in crate::book) models: Vec<ModelsRow>,
    pub(in crate::book) purposes: Vec<PurposesRow>,
}

/// The hours since a time that are counted, in order.
pub(in crate::book) async fn list_counted(db: &Database, since: DateTime<Utc>) -> sqlx::Result<Vec<DateTime<Utc>>> {
    db.reader().query(select!(LIST_COUNTED)).bind(since).fetch_values().await
}

/// When the first thing was that is counted, of those since a time.
pub(in crate::book) async fn find_first(db: &Database, since: DateTime<Utc>) -> sqlx::Result<Option<DateTime<Utc>>> {
    db.reader().query(select!(FIND_FIRST)).bind(since).bind(since).bind(since).fetch_value().await
}

/// Goes through one hour.
pub(in crate::book) async fn look_at_hour(db: &Database, hour: DateTime<Utc>) -> sqlx::Result<HourRows> {
    let end = hour + TimeDelta::hours(1);
    let reader = db.reader();
    let models = reader.query(select!(COUNT_MODELS)).bind(hour).bind(end).bind(hour).bind(end);
    let purposes = reader.query(select!(COUNT_PURPOSES)).bind(hour).bind(end).bind(hour).bind(end);
    Ok(HourRows {
        calls: reader.query(select!(COUNT_CALLS)).bind(hour).bind(end).fetch_all().await?,
        durations: reader.query(select!(COUNT_DURATIONS)).bind(hour).bind(end).fetch_all().await?,
        models: models.fetch_all().await?,
        purposes: purposes.fetch_all().await?,
    })
}

/// When those calls began, at most so many, that have not come to their end.
pub(in crate::book) async fn list_open(
    db: &Database,
    since: DateTime<Utc>,
    limit: u32,
) -> sqlx::Result<Vec<DateTime<Utc>>> {
    db.reader().query(select!(LIST_OPEN)).bind(since).bind(limit).fetch_values().await
}

/// Counts hours for good. Of two processes that do it at once one has its way.
pub(in crate::book) async fn count_hours(
    db: &Database,
    hours: &[DateTime<Utc>],
    now: DateTime<Utc>,
) -> sqlx::Result<()> {
    let mut looked_at = Vec::with_capacity(hours.len());
    for hour in hours {
        looked_at.push((*hour, look_at_hour(db, *hour).await?));
    }
    let mut tx = db.begin().await?;
    for (hour, rows) in &looked_at {
        match tx.query(CLAIM).bind(*hour).bind(now).execute().await {
            Err(error) if error.as_database_error().is_some_and(DatabaseError::is_unique_violation) => return Ok(()),
            claimed => claimed?,
        };
        write_hour(&mut tx, *hour, rows).await?;
    }
    tx.commit().await
}

async fn write_hour(tx: &mut Transaction, hour: DateTime<Utc>, rows: &HourRows) -> sqlx::Result<()> {
    // Words that this version does not know are one to it.
    let mut calls_of: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    for CallsRow { tool_name, status, calls } in &rows.calls {
        *calls_of.entry((tool_name, status.as_str())).or_default() += calls;
    }
    for ((tool, status), calls) in calls_of {
        tx.query(CREATE_CALLS).bind(hour).bind(tool).bind(status).bind(calls).execute().await?;
    }
    for (tool, up_to_ms, calls) in &rows.durations {
        tx.query(CREATE_DURATIONS).bind(hour).bind(tool).bind(up_to_ms).bind(calls).execute().await?;
    }
    for row in &rows.models {
        let SpentRow { calls, input_tokens, output_tokens, cost_nanos } = row.spent;
        let query = tx.query(CREATE_MODELS).bind(hour).bind(row.user_id).bind(&row.model_name).bind(calls);
        let query = query.bind(input_tokens).bind(output_tokens).bind(cost_nanos);
        query.execute().await?;
    }
    for row in &rows.purposes {
        let SpentRow { calls, input_tokens, output_tokens, cost_nanos } = row.spent;
        let query = tx.query(CREATE_PURPOSES).bind(hour).bind(&row.purpose).bind(calls);
        let query = query.bind(input_tokens).bind(output_tokens).bind(cost_nanos);
        query.execute().await?;
    }
    Ok(())
}

/// What people are called.
pub(in crate::book) async fn list_names(db: &Database, users: &[UserId]) -> sqlx::Result<Vec<(UserId, String)>> {
    let mut names = Vec::with_capacity(users.len());
    for users in users.chunks(NAMES_AT_ONCE) {
        names.append(&mut list_by_ids(db, LIST_NAMES, users, ")", None).await?);
    }
    Ok(names)
}
