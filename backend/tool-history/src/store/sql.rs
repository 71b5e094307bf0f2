//! Builds SQL statements from constant text and bound values.

use chrono::{DateTime, Utc};
use tallybook_database::{Argument, Database, Handle, Pattern, Query, Row, Select};
use tallybook_protocol::ToolCallId;

/// Returns the first `limit` rows of the query that consists of `select`, the list of `ids`, and `order`.
pub(crate) async fn list_first_by_ids<I, T>(
    db: &Database,
    select: Select,
    ids: &[I],
    order: &'static str,
    limit: u32,
) -> sqlx::Result<Vec<T>>
where
    I: Copy + Sync + for<'v> Argument<'v>,
    T: Row,
{
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let mut query = db.reader().query(select);
    query.push_list(ids.iter().copied()).push(order).push(" LIMIT ").push_bind(limit);
    query.fetch_all().await
}

/// A bound value.
#[derive(Clone, Debug)]
pub(crate) enum Value {
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

/// A statement or a part of one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sql(Vec<Part>);

impl Sql {
    pub(crate) fn new(text: &'static str) -> Self {
        Self(vec![Part::Text(text)])
    }

    pub(crate) fn text(mut self, text: &'static str) -> Self {
        self.0.push(Part::Text(text));
        self
    }

    pub(crate) fn value(mut self, value: impl Into<Value>) -> Self {
        self.0.push(Part::Value(value.into()));
        self
    }

    pub(crate) fn contains(mut self, column: &'static str, pattern: &Pattern) -> Self {
        self.0.push(Part::Contains(pattern.clone(), column));
        self
    }

    pub(crate) fn then(mut self, other: &Self) -> Self {
        self.0.extend(other.0.iter().cloned());
        self
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Appends this to a statement.
    pub(crate) fn push_to<H: Handle>(&self, query: &mut Query<H>) {
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
