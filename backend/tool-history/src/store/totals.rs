//! SQL that adds up the counts of tool calls since a time. Full days are read from their totals, and only the hours
//! before the first full day and after the last one from the hourly counts: a day has thousands of hourly rows, but
//! only a few hundred rows of totals.

use chrono::{DateTime, TimeDelta, Utc};
use tallybook_database::{Database, Row, Select, is_unique_violation, select};

use super::figures::{CallsOfHourRow, CallsRow, DurationsRow, UsageRow};

/// Statements that store the sums of a day.
const CREATE: [&str; 4] = [
    "INSERT INTO tool_call_days (day, tool_name, status, calls) SELECT ?, tool_name, status, SUM(calls) \
     FROM tool_call_hours WHERE hour >= ? AND hour < ? GROUP BY tool_name, status",
    "INSERT INTO tool_duration_days (day, tool_name, up_to_ms, calls) SELECT ?, tool_name, up_to_ms, SUM(calls) \
     FROM tool_duration_hours WHERE hour >= ? AND hour < ? GROUP BY tool_name, up_to_ms",
    "INSERT INTO model_call_days (day, user_id, model, calls, input_tokens, output_tokens, cost_nanos) \
     SELECT ?, user_id, model, SUM(calls), SUM(input_tokens), SUM(output_tokens), SUM(cost_nanos) \
     FROM model_call_hours WHERE hour >= ? AND hour < ? GROUP BY user_id, model",
    "INSERT INTO purpose_call_days (day, purpose, calls, input_tokens, output_tokens, cost_nanos) \
     SELECT ?, purpose, SUM(calls), SUM(input_tokens), SUM(output_tokens), SUM(cost_nanos) \
     FROM purpose_call_hours WHERE hour >= ? AND hour < ? GROUP BY purpose",
];

/// Selects from the rows of days and of hours together, and groups them. The bound values are: the start and the end of
/// the full days, the start of the hours, and again the start and the end of the full days.
macro_rules! sum {
    ([$($select:literal),+], $of_days:literal, $of_hours:literal, $group:literal) => {
        concat!(
            "SELECT ",
            $($select,)+
            " FROM (SELECT ",
            $of_days,
            " WHERE day >= ? AND day < ? UNION ALL SELECT ",
            $of_hours,
            " WHERE hour >= ? AND hour < ? UNION ALL SELECT ",
            $of_hours,
            " WHERE hour >= ?) AS parts ",
            $group
        )
    };
}

/// Like `sum!`, for the counts of model calls by a name. SUM of integers is a DECIMAL in MySQL.
macro_rules! sum_spent {
    ($name:literal, $of_days:literal, $of_hours:literal, $group:literal) => {
        sum!(
            [
                $name,
                ", CAST(SUM(calls) AS SIGNED) AS calls, CAST(SUM(input_tokens) AS SIGNED) AS input_tokens, \
                 CAST(SUM(output_tokens) AS SIGNED) AS output_tokens, CAST(SUM(cost_nanos) AS SIGNED) AS cost_nanos"
            ],
            $of_days,
            $of_hours,
            $group
        )
    };
}

const SUM_TOOLS: Select = select!(sum!(
    ["tool_name, status, CAST(SUM(calls) AS SIGNED) AS calls"],
    "tool_name, status, calls FROM tool_call_days",
    "tool_name, status, calls FROM tool_call_hours",
    "GROUP BY tool_name, status"
));

const SUM_DURATIONS: Select = select!(sum!(
    ["tool_name, up_to_ms, CAST(SUM(calls) AS SIGNED) AS calls"],
    "tool_name, up_to_ms, calls FROM tool_duration_days",
    "tool_name, up_to_ms, calls FROM tool_duration_hours",
    "GROUP BY tool_name, up_to_ms"
));

const SUM_DAYS: Select = select!(sum_spent!(
    "name",
    "SUBSTR(day, 1, 10) AS name, calls, input_tokens, output_tokens, cost_nanos FROM model_call_days",
    "SUBSTR(hour, 1, 10) AS name, calls, input_tokens, output_tokens, cost_nanos FROM model_call_hours",
    "GROUP BY name"
));

const SUM_MODELS: Select = select!(sum_spent!(
    "model AS name",
    "model, calls, input_tokens, output_tokens, cost_nanos FROM model_call_days",
    "model, calls, input_tokens, output_tokens, cost_nanos FROM model_call_hours",
    "GROUP BY model"
));

const SUM_PEOPLE: Select = select!(sum_spent!(
    "COALESCE(users.name, '?') AS name",
    "user_id, calls, input_tokens, output_tokens, cost_nanos FROM model_call_days",
    "user_id, calls, input_tokens, output_tokens, cost_nanos FROM model_call_hours",
    "LEFT JOIN users ON users.id = parts.user_id GROUP BY parts.user_id, users.name"
));

const SUM_PURPOSES: Select = select!(sum_spent!(
    "purpose AS name",
    "purpose, calls, input_tokens, output_tokens, cost_nanos FROM purpose_call_days",
    "purpose, calls, input_tokens, output_tokens, cost_nanos FROM purpose_call_hours",
    "GROUP BY purpose"
));

/// Number, tokens, and cost of the model calls with the same name.
#[derive(Clone, Debug, sqlx::FromRow)]
pub(crate) struct SpentOfRow {
    /// The day, the model, the user, or the purpose.
    pub(crate) name: String,
    #[sqlx(flatten)]
    pub(crate) spent: UsageRow,
}

/// The counted statistics since a time.
#[derive(Clone, Debug, Default)]
pub(crate) struct SumRows {
    pub(crate) hours: Vec<CallsOfHourRow>,
    pub(crate) tools: Vec<CallsRow>,
    pub(crate) durations: Vec<DurationsRow>,
    pub(crate) days: Vec<SpentOfRow>,
    pub(crate) models: Vec<SpentOfRow>,
    pub(crate) people: Vec<SpentOfRow>,
    pub(crate) purposes: Vec<SpentOfRow>,
}

/// Returns the days since a time that have totals, in order.
pub(crate) async fn list_counted_days(db: &Database, since: DateTime<Utc>) -> sqlx::Result<Vec<DateTime<Utc>>> {
    db.reader()
        .query(select!("SELECT day FROM counted_days WHERE day >= ? ORDER BY day"))
        .bind(since)
        .fetch_values()
        .await
}

/// Stores the totals of a day permanently. All its hours must be counted. If two processes do so at the same time, only
/// one stores its results.
pub(crate) async fn count_day(db: &Database, day: DateTime<Utc>, now: DateTime<Utc>) -> sqlx::Result<()> {
    let mut tx = db.begin().await?;
    match tx.query("INSERT INTO counted_days (day, counted_at) VALUES (?, ?)").bind(day).bind(now).execute().await {
        Err(error) if is_unique_violation(&error) => return Ok(()),
        claimed => claimed?,
    };
    for create in CREATE {
        tx.query(create).bind(day).bind(day).bind(day + TimeDelta::days(1)).execute().await?;
    }
    tx.commit().await
}

/// Returns the counts since a time, with full days from `full_days.0` to `full_days.1`.
pub(crate) async fn sum(
    db: &Database,
    since: DateTime<Utc>,
    full_days: (DateTime<Utc>, DateTime<Utc>),
) -> sqlx::Result<SumRows> {
    Ok(SumRows {
        hours: db
            .reader()
            .query(select!(
                "SELECT hour, status, CAST(SUM(calls) AS SIGNED) AS calls FROM tool_call_hours WHERE hour >= ? \
                 GROUP BY hour, status"
            ))
            .bind(since)
            .fetch_all()
            .await?,
        tools: sum_parts(db, SUM_TOOLS, since, full_days).await?,
        durations: sum_parts(db, SUM_DURATIONS, since, full_days).await?,
        days: sum_parts(db, SUM_DAYS, since, full_days).await?,
        models: sum_parts(db, SUM_MODELS, since, full_days).await?,
        people: sum_parts(db, SUM_PEOPLE, since, full_days).await?,
        purposes: sum_parts(db, SUM_PURPOSES, since, full_days).await?,
    })
}

/// Adds up the rows of full days and of the hours around them.
async fn sum_parts<T: Row>(
    db: &Database,
    sql: Select,
    since: DateTime<Utc>,
    (first, end): (DateTime<Utc>, DateTime<Utc>),
) -> sqlx::Result<Vec<T>> {
    let query = db.reader().query(sql).bind(first).bind(end).bind(since).bind(first).bind(end);
    query.fetch_all().await
}
