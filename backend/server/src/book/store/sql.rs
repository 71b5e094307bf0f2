//! SQL that is put together: texts of ours, and values that are bound.

use chrono::{DateTime, Utc};
use tallybook_database::{Argument, Database, Handle, Pattern, Query, Row, Select};
use tallybook_protocol::ToolCallId;

/// The rows that `select`, the list of `ids` and then `order` find, at most `limit` of them.
pub(super) async fn list_by_ids<I, T>(
    db: &Database,
    select: Select,
    ids: &[I],
    order: &'static str,
    limit: Option<u32>,
) -> sqlx::Result<Vec<T>>
where
    I: Copy + Sync + for<'v> Argument<'v>,
    T: Row,
{
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = db.reader().query(select);
    query.push_list(ids.iter().copied()).push(order);
    if let Some(limit) = limit {
        query.push(" LIMIT ").push_bind(limit);
    }
    query.fetch_all().await
}

/// A value that is bound.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(String),
    Number(i64),
    Time(DateTime<Utc>),
}

impl From<i64> for Value {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<ToolCallId> for Value {
    fn from(id: ToolCallId) -> Self {
        Self::Number(id.0)
    }
}

impl From<DateTime<Utc>> for Value {
    fn from(time: DateTime<Utc>) -> Self {
        Self::Time(time)
    }
}

/// A part of a statement.
#[derive(Clone, Debug)]
enum Part {
    Text(&'static str),
    Value(Value),
    /// The condition that a column contains a text.
    Contains(Pattern, &'static str),
}

/// A statement, or some of one.
#[derive(Clone, Debug, Default)]
pub(super) struct Sql(Vec<Part>);

impl Sql {
    pub(super) fn new(text: &'static str) -> Self {
        Self(vec![Part::Text(text)])
    }

    pub(super) fn text(mut self, text: &'static str) -> Self {
        self.0.push(Part::Text(text));
        self
    }

    pub(super) fn value(mut self, value: impl Into<Value>) -> Self {
        self.0.push(Part::Value(value.into()));
        self
    }

    pub(super) fn contains(mut self, column: &'static str, pattern: &Pattern) -> Self {
        self.0.push(Part::Contains(pattern.clone(), column));
        self
    }

    pub(super) fn then(mut self, other: &Self) -> Self {
        self.0.extend(other.0.iter().cloned());
        self
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends this to a statement.
    pub(super) fn push_to<H: Handle>(&self, query: &mut Query<H>) {
        for part in &self.0 {
            match part {
                Part::Text(text) => {
                    query.push(text);
                }
                Part::Value(Value::Text(text)) => {
                    query.push_bind(text.clone());
                }
                Part::Value(Value::Number(number)) => {
                    query.push_bind(*number);
                }
                Part::Value(Value::Time(time)) => {
                    query.push_bind(*time);
                }
                Part::Contains(pattern, column) => pattern.push_matches(query, column),
            }
        }
    }
}
