//! Builds SQL statements: a text that both engines accept, and its arguments in the encoding of the engine.

use std::{borrow::Cow, time::Duration};

use sqlx::{
    Arguments as _, AssertSqlSafe, Decode, Encode, FromRow, MySql, SqlSafeStr as _, SqlStr, Sqlite, Type,
    error::BoxDynError,
    mysql::{MySqlArguments, MySqlQueryResult, MySqlRow},
    sqlite::{SqliteArguments, SqliteQueryResult, SqliteRow},
};

use crate::time::{STATEMENT_TIMEOUT, now};

/// A type that can be decoded from a row of either engine.
pub trait Row: for<'r> FromRow<'r, MySqlRow> + for<'r> FromRow<'r, SqliteRow> + Send + Unpin {}

impl<T> Row for T where T: for<'r> FromRow<'r, MySqlRow> + for<'r> FromRow<'r, SqliteRow> + Send + Unpin {}

/// A type that can be decoded from a column of either engine.
pub trait Column:
    for<'r> Decode<'r, MySql> + Type<MySql> + for<'r> Decode<'r, Sqlite> + Type<Sqlite> + Send + Unpin
{
}

impl<T> Column for T where
    T: for<'r> Decode<'r, MySql> + Type<MySql> + for<'r> Decode<'r, Sqlite> + Type<Sqlite> + Send + Unpin
{
}

/// A type whose values can be arguments of a statement on either engine.
pub trait Argument<'v>: Encode<'v, MySql> + Type<MySql> + Encode<'v, Sqlite> + Type<Sqlite> {}

impl<'v, T> Argument<'v> for T where T: Encode<'v, MySql> + Type<MySql> + Encode<'v, Sqlite> + Type<Sqlite> {}

/// SQL text that begins with `SELECT`. Create it with [`select!`](crate::select), which checks this at
/// compile time.
#[derive(Clone, Copy, Debug)]
pub struct Select(&'static str);

impl Select {
    /// Creates the text from SQL that begins with `SELECT` and a space. `WITH` is refused, because `WITH … DELETE`
    /// writes.
    ///
    /// # Panics
    ///
    /// Panics if the SQL begins with anything else. In a constant, this is a compile error.
    #[must_use]
    pub const fn new(sql: &'static str) -> Self {
        assert!(begins_with(sql, b"SELECT "), "a reader runs only SELECT");
        Self(sql)
    }

    pub(crate) fn sql(self) -> &'static str {
        self.0
    }
}

/// Returns `true` if the SQL begins with `word`, in upper or lower case, after optional white space.
const fn begins_with(sql: &str, word: &[u8]) -> bool {
    let sql = sql.as_bytes().trim_ascii_start();
    let mut index = 0;
    while index < word.len() {
        if index >= sql.len() || !sql[index].eq_ignore_ascii_case(&word[index]) {
            return false;
        }
        index += 1;
    }
    true
}

/// Creates a [`Select`] for a [`Reader`]. Checks at compile time that the SQL begins with `SELECT`.
#[macro_export]
macro_rules! select {
    ($sql:expr) => {
        const { $crate::Select::new($sql) }
    };
}

/// Result of a statement that writes.
#[derive(Clone, Copy, Debug)]
pub struct WriteResult {
    /// Number of rows that were inserted, updated or deleted. A row counts as updated even if its values stay the same.
    pub rows: u64,
    /// Generated key of the inserted row, after an `INSERT` of one row. Unspecified after any other statement.
    pub inserted_id: i64,
}

impl From<MySqlQueryResult> for WriteResult {
    fn from(result: MySqlQueryResult) -> Self {
        // Keys are of the type BIGINT, so each one fits in an i64, although the protocol sends a u64.
        let inserted_id = i64::try_from(result.last_insert_id()).unwrap_or(i64::MAX);
        Self { rows: result.rows_affected(), inserted_id }
    }
}

impl From<SqliteQueryResult> for WriteResult {
    fn from(result: SqliteQueryResult) -> Self {
        Self { rows: result.rows_affected(), inserted_id: result.last_insert_rowid() }
    }
}

/// A handle that runs statements: a reader, a writer or a transaction.
pub trait Handle {
    /// The pool or connection that runs the statements on MySQL.
    type MySql;
    /// The pool or connection that runs the statements on SQLite.
    type Sqlite;
}

/// The pool or connection that runs a statement, and the statement's arguments in the encoding of the engine.
pub(crate) enum Target<H: Handle> {
    MySql(H::MySql, MySqlArguments),
    Sqlite(H::Sqlite, SqliteArguments),
}

/// A statement that is being built, and the handle that will run it.
#[must_use = "a statement does nothing until it is run"]
pub struct Query<H: Handle> {
    sql: Cow<'static, str>,
    target: Target<H>,
    /// Error of the first argument that could not be encoded. It is returned when the statement is run.
    invalid_argument: Option<BoxDynError>,
    timeout: Duration,
}

impl<H: Handle> Query<H> {
    pub(crate) fn new(sql: &'static str, target: Target<H>) -> Self {
        Self { sql: Cow::Borrowed(sql), target, invalid_argument: None, timeout: STATEMENT_TIMEOUT }
    }

    /// Adds the value for the next `?`.
    pub fn bind<'v>(mut self, value: impl Argument<'v>) -> Self {
        self.add(value);
        self
    }

    /// Appends SQL.
    pub fn push(&mut self, sql: &'static str) -> &mut Self {
        self.sql.to_mut().push_str(sql);
        self
    }

    /// Appends a `?` and its value.
    pub fn push_bind<'v>(&mut self, value: impl Argument<'v>) -> &mut Self {
        self.add(value);
        self.push("?")
    }

    /// Appends the time that is `duration` after the current time of the database's clock, which all replicas share.
    pub fn push_time_after(&mut self, duration: Duration) -> &mut Self {
        if self.is_sqlite() {
            // Only this process uses the file, so its own clock is the shared one.
            return self.push_bind(now() + duration);
        }
        let microseconds = i64::try_from(duration.as_micros()).unwrap_or(i64::MAX);
        self.push("TIMESTAMPADD(MICROSECOND, ").push_bind(microseconds).push(", UTC_TIMESTAMP(6))")
    }

    /// Appends a `?` for each value, separated by commas.
    pub fn push_list<'v, V: Argument<'v>>(&mut self, values: impl IntoIterator<Item = V>) -> &mut Self {
        for (index, value) in values.into_iter().enumerate() {
            if index > 0 {
                self.push(", ");
            }
            self.push_bind(value);
        }
        self
    }

    /// Appends the rows of an `INSERT`, separated by commas. Calls `add` for each of `rows`, which must add the row's
    /// values.
    pub fn push_rows<T>(
        &mut self,
        rows: impl IntoIterator<Item = T>,
        mut add: impl FnMut(&mut Values<'_, H>, T),
    ) -> &mut Self {
        for (index, row) in rows.into_iter().enumerate() {
            self.push(if index == 0 { "(" } else { ", (" });
            add(&mut Values { query: self, is_first: true }, row);
            self.push(")");
        }
        self
    }

    /// Sets the timeout of each attempt to run the statement. The default is [`STATEMENT_TIMEOUT`]. Time in the queue
    /// of writers does not count.
    pub fn with_timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Returns `true` if the statement runs on SQLite.
    pub fn is_sqlite(&self) -> bool {
        matches!(self.target, Target::Sqlite(..))
    }

    fn add<'v>(&mut self, value: impl Argument<'v>) {
        let added = match &mut self.target {
            Target::MySql(_, arguments) => arguments.add(value),
            Target::Sqlite(_, arguments) => arguments.add(value),
        };
        if let Err(error) = added {
            self.invalid_argument.get_or_insert(error);
        }
    }

    pub(crate) fn into_parts(self) -> sqlx::Result<(SqlStr, Target<H>, Duration)> {
        if let Some(error) = self.invalid_argument {
            return Err(sqlx::Error::Encode(error));
        }
        let sql = match self.sql {
            Cow::Borrowed(sql) => sql.into_sql_str(),
            // Safe, because `push` appends only `&'static str`.
            Cow::Owned(sql) => AssertSqlSafe(sql).into_sql_str(),
        };
        Ok((sql, self.target, self.timeout))
    }
}

/// The values of one row of an `INSERT`.
pub struct Values<'q, H: Handle> {
    query: &'q mut Query<H>,
    is_first: bool,
}

impl<H: Handle> Values<'_, H> {
    /// Binds the value of the next column of the row that is being inserted.
    pub fn push<'v>(&mut self, value: impl Argument<'v>) -> &mut Self {
        if !std::mem::take(&mut self.is_first) {
            self.query.push(", ");
        }
        self.query.push_bind(value);
        self
    }
}
