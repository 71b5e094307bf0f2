//! SQL that counts the calls, durations, tokens, and costs of each past hour. An hour's calls are scanned once; the
//! statistics of a month then read some thousands of rows instead of a million. `totals` adds the counts up.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use tallybook_accounts::UserId;
use tallybook_database::{Database, Transaction, is_unique_violation, select};
use tallybook_protocol::{Rating, ToolCallStatus};

/// Number of a tool's calls with a status.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct CallsRow {
    pub(crate) tool_name: String,
    #[sqlx(try_from = "String")]
    pub(crate) status: ToolCallStatus,
    pub(crate) calls: i64,
}

/// Number of an hour's calls with a status.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(crate) struct CallsOfHourRow {
    pub(crate) hour: DateTime<Utc>,
    #[sqlx(try_from = "String")]
    pub(crate) status: ToolCallStatus,
    pub(crate) calls: i64,
}

/// Upper bound of the last bucket of durations that has one, in milliseconds. `read_hour` counts longer durations in a
/// bucket with a larger number.
pub(crate) const LONGEST_BUCKET_MS: i64 = 600_000;

/// A tool, the upper bound of a duration bucket in milliseconds, and the number of calls in the bucket.
pub(crate) type DurationsRow = (String, i64, i64);

/// Number, tokens, and cost of model calls.
#[derive(Clone, Copy, Debug, sqlx::FromRow)]
pub(crate) struct UsageRow {
    pub(crate) calls: i64,
    pub(crate) input_tokens: i64,
    pub(crate) output_tokens: i64,
    pub(crate) cost_nanos: i64,
}

/// Model calls of a user with a model.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct ModelsRow {
    pub(crate) user_id: UserId,
    pub(crate) model_name: String,
    #[sqlx(flatten)]
    pub(crate) spent: UsageRow,
}

/// Model calls for one purpose.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct PurposesRow {
    pub(crate) purpose: String,
    #[sqlx(flatten)]
    pub(crate) spent: UsageRow,
}

/// Number of a model's answers with a rating.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct RatingsRow {
    pub(crate) model_name: String,
    #[sqlx(try_from = "String")]
    pub(crate) rating: Rating,
    pub(crate) answers: i64,
}

/// The counts of one hour.
#[derive(Clone, Debug, Default)]
pub(crate) struct HourRows {
    pub(crate) calls: Vec<CallsRow>,
    pub(crate) durations: Vec<DurationsRow>,
    pub(crate) models: Vec<ModelsRow>,
    pub(crate) purposes: Vec<PurposesRow>,
}

/// Returns the counted hours since a time, in order.
pub(crate) async fn list_counted(db: &Database, since: DateTime<Utc>) -> sqlx::Result<Vec<DateTime<Utc>>> {
    db.reader()
        .query(select!("SELECT hour FROM counted_hours WHERE hour >= ? ORDER BY hour"))
        .bind(since)
        .fetch_values()
        .await
}

/// Returns the time of the first countable record since a time; `None` if there is none.
pub(crate) async fn find_first(db: &Database, since: DateTime<Utc>) -> sqlx::Result<Option<DateTime<Utc>>> {
    db.reader()
        .query(select!(
            "SELECT MIN(first_at) FROM \
             (SELECT MIN(started_at) AS first_at FROM tool_calls WHERE started_at >= ? \
             UNION ALL SELECT MIN(created_at) AS first_at FROM model_calls WHERE created_at >= ? \
             UNION ALL SELECT MIN(created_at) AS first_at FROM plain_calls WHERE created_at >= ?) AS firsts"
        ))
        .bind(since)
        .bind(since)
        .bind(since)
        .fetch_value()
        .await
}

/// Counts one hour without storing the result.
pub(crate) async fn read_hour(db: &Database, hour: DateTime<Utc>) -> sqlx::Result<HourRows> {
    let end = hour + TimeDelta::hours(1);
    let reader = db.reader();
    // SUM of integers is a DECIMAL in MySQL, hence the casts.
    let models = reader
        .query(select!(
            "SELECT user_id, model_name, COUNT(*) AS calls, CAST(SUM(input_tokens) AS SIGNED) AS input_tokens, \
             CAST(SUM(output_tokens) AS SIGNED) AS output_tokens, CAST(COALESCE(SUM(cost_nanos), 0) AS SIGNED) \
             AS cost_nanos FROM (SELECT c.user_id AS user_id, COALESCE(m.model, k.model) AS model_name, \
             k.input_tokens, k.output_tokens, k.cost_nanos FROM model_calls k \
             JOIN messages m ON m.id = k.message_id JOIN conversations c ON c.id = m.conversation_id \
             WHERE k.created_at >= ? AND k.created_at < ? UNION ALL \
             SELECT user_id, model, input_tokens, output_tokens, cost_nanos FROM plain_calls \
             WHERE created_at >= ? AND created_at < ?) AS all_calls GROUP BY user_id, model_name"
        ))
        .bind(hour)
        .bind(end)
        .bind(hour)
        .bind(end);
    let purposes = reader
        .query(select!(
            "SELECT purpose, COUNT(*) AS calls, CAST(SUM(input_tokens) AS SIGNED) AS input_tokens, \
             CAST(SUM(output_tokens) AS SIGNED) AS output_tokens, CAST(COALESCE(SUM(cost_nanos), 0) AS SIGNED) \
             AS cost_nanos FROM (SELECT CAST(purpose AS CHAR(32)) AS purpose, input_tokens, output_tokens, \
             cost_nanos FROM model_calls WHERE created_at >= ? AND created_at < ? UNION ALL \
             SELECT 'plain', input_tokens, output_tokens, cost_nanos FROM plain_calls WHERE created_at >= ? \
             AND created_at < ?) AS all_calls GROUP BY purpose"
        ))
        .bind(hour)
        .bind(end)
        .bind(hour)
        .bind(end);
    Ok(HourRows {
        calls: reader
            .query(select!(
                "SELECT tool_name, status, COUNT(*) AS calls FROM tool_calls \
                 WHERE started_at >= ? AND started_at < ? GROUP BY tool_name, status"
            ))
            .bind(hour)
            .bind(end)
            .fetch_all()
            .await?,
        // Rounds each duration up to the next bucket. From 2 ms to 30 s, a bucket is at most two thirds longer than the
        // bucket before it. Longer buckets are coarser.
        durations: reader
            .query(select!(
                "SELECT tool_name, CASE \
                 WHEN duration_ms <= 1 THEN 1 WHEN duration_ms <= 2 THEN 2 WHEN duration_ms <= 3 THEN 3 \
                 WHEN duration_ms <= 5 THEN 5 WHEN duration_ms <= 7 THEN 7 WHEN duration_ms <= 10 THEN 10 \
                 WHEN duration_ms <= 15 THEN 15 WHEN duration_ms <= 20 THEN 20 WHEN duration_ms <= 30 THEN 30 \
                 WHEN duration_ms <= 50 THEN 50 WHEN duration_ms <= 70 THEN 70 WHEN duration_ms <= 100 THEN 100 \
                 WHEN duration_ms <= 150 THEN 150 WHEN duration_ms <= 200 THEN 200 WHEN duration_ms <= 300 THEN 300 \
                 WHEN duration_ms <= 500 THEN 500 WHEN duration_ms <= 700 THEN 700 WHEN duration_ms <= 1000 THEN 1000 \
                 WHEN duration_ms <= 1500 THEN 1500 WHEN duration_ms <= 2000 THEN 2000 WHEN duration_ms <= 3000 THEN 3000 \
                 WHEN duration_ms <= 5000 THEN 5000 WHEN duration_ms <= 7000 THEN 7000 WHEN duration_ms <= 10000 THEN 10000 \
                 WHEN duration_ms <= 15000 THEN 15000 WHEN duration_ms <= 20000 THEN 20000 WHEN duration_ms <= 30000 THEN 30000 \
                 WHEN duration_ms <= 60000 THEN 60000 WHEN duration_ms <= 120000 THEN 120000 WHEN duration_ms <= 300000 THEN 300000 \
                 WHEN duration_ms <= 600000 THEN 600000 \
                 ELSE 3600000 END AS up_to_ms, COUNT(*) AS calls \
                 FROM tool_calls WHERE started_at >= ? AND started_at < ? AND duration_ms IS NOT NULL \
                 GROUP BY tool_name, up_to_ms"
            ))
            .bind(hour)
            .bind(end)
            .fetch_all()
            .await?,
        models: models.fetch_all().await?,
        purposes: purposes.fetch_all().await?,
    })
}

/// Returns the start times of unfinished calls since a time, at most `limit`.
pub(crate) async fn list_open(db: &Database, since: DateTime<Utc>, limit: u32) -> sqlx::Result<Vec<DateTime<Utc>>> {
    db.reader()
        .query(select!(
            "SELECT started_at FROM tool_calls WHERE status IN ('pending', 'awaiting_approval') \
             AND started_at >= ? LIMIT ?"
        ))
        .bind(since)
        .bind(limit)
        .fetch_values()
        .await
}

/// Counts hours and stores the results permanently. If two processes do so at the same time, only one stores its
/// results.
pub(crate) async fn count_hours(db: &Database, hours: &[DateTime<Utc>], now: DateTime<Utc>) -> sqlx::Result<()> {
    let mut counted_on_request = Vec::with_capacity(hours.len());
    for hour in hours {
        counted_on_request.push((*hour, read_hour(db, *hour).await?));
    }
    let mut tx = db.begin().await?;
    for (hour, rows) in &counted_on_request {
        match tx
            .query("INSERT INTO counted_hours (hour, counted_at) VALUES (?, ?)")
            .bind(*hour)
            .bind(now)
            .execute()
            .await
        {
            Err(error) if is_unique_violation(&error) => return Ok(()),
            claimed => claimed?,
        };
        write_hour(&mut tx, *hour, rows).await?;
    }
    tx.commit().await
}

async fn write_hour(tx: &mut Transaction, hour: DateTime<Utc>, rows: &HourRows) -> sqlx::Result<()> {
    // Statuses that this version does not know are read as one status, so their rows are added up.
    let mut calls_of: BTreeMap<(&str, &str), i64> = BTreeMap::new();
    for CallsRow { tool_name, status, calls } in &rows.calls {
        *calls_of.entry((tool_name, status.as_str())).or_default() += calls;
    }
    for ((tool, status), calls) in calls_of {
        tx.query("INSERT INTO tool_call_hours (hour, tool_name, status, calls) VALUES (?, ?, ?, ?)")
            .bind(hour)
            .bind(tool)
            .bind(status)
            .bind(calls)
            .execute()
            .await?;
    }
    for (tool, up_to_ms, calls) in &rows.durations {
        tx.query("INSERT INTO tool_duration_hours (hour, tool_name, up_to_ms, calls) VALUES (?, ?, ?, ?)")
            .bind(hour)
            .bind(tool)
            .bind(up_to_ms)
            .bind(calls)
            .execute()
            .await?;
    }
    for row in &rows.models {
        let UsageRow { calls, input_tokens, output_tokens, cost_nanos } = row.spent;
        let query = tx
            .query(
                "INSERT INTO model_call_hours \
                 (hour, user_id, model, calls, input_tokens, output_tokens, cost_nanos) VALUES (?, ?, ?, ?, ?, ?, ?)",
            )
            .bind(hour)
            .bind(row.user_id)
            .bind(&row.model_name)
            .bind(calls);
        let query = query.bind(input_tokens).bind(output_tokens).bind(cost_nanos);
        query.execute().await?;
    }
    for row in &rows.purposes {
        let UsageRow { calls, input_tokens, output_tokens, cost_nanos } = row.spent;
        let query = tx
            .query(
                "INSERT INTO purpose_call_hours \
                 (hour, purpose, calls, input_tokens, output_tokens, cost_nanos) VALUES (?, ?, ?, ?, ?, ?)",
            )
            .bind(hour)
            .bind(&row.purpose)
            .bind(calls);
        let query = query.bind(input_tokens).bind(output_tokens).bind(cost_nanos);
        query.execute().await?;
    }
    Ok(())
}

/// Counts the ratings that users gave or changed since a time, at most `limit`. They are not counted by the hour,
/// because they change.
pub(crate) async fn count_ratings(db: &Database, since: DateTime<Utc>, limit: u32) -> sqlx::Result<Vec<RatingsRow>> {
    db.reader()
        .query(select!(
            "SELECT model_name, rating, COUNT(*) AS answers FROM (SELECT f.rating, COALESCE(m.model, \
             (SELECT k.model FROM model_calls k WHERE k.message_id = m.id AND k.purpose = 'answer' \
             ORDER BY k.step DESC LIMIT 1), '?') AS model_name FROM (SELECT message_id, rating FROM feedback \
             WHERE updated_at >= ? ORDER BY updated_at DESC LIMIT ?) AS f JOIN messages m ON m.id = f.message_id) \
             AS rated GROUP BY model_name, rating"
        ))
        .bind(since)
        .bind(limit)
        .fetch_all()
        .await
}

/// Returns the names of users.
pub(crate) async fn list_names(db: &Database, users: &[UserId]) -> sqlx::Result<Vec<(UserId, String)>> {
    db.reader().list_by_ids(select!("SELECT id, name FROM users WHERE id IN ("), users, ")").await
}
