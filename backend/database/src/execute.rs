//! Runs statements through a reader, the writer or a transaction.

use sqlx::{query_as_with, query_scalar_with, query_with};

use crate::{
    database::{Reader, Transaction, Writer, acquire_write_permit},
    failure::before_commit,
    query::{Column, Query, Row, Target, WriteResult},
    retry::retry_on_conflict,
    timeouts::{WRITER_QUEUE_TIMEOUT, with_timeout},
};

/// Runs a statement on a reader's pool.
macro_rules! read {
    ($query:expr, $build:ident, $fetch:ident) => {{
        let (sql, target, timeout) = $query.into_parts()?;
        match target {
            Target::MySql(pool, arguments) => {
                let run = || with_timeout(timeout, $build(sql.clone(), arguments.clone()).$fetch(pool));
                retry_on_conflict(run).await
            }
            Target::Sqlite(pool, arguments) => with_timeout(timeout, $build(sql, arguments).$fetch(pool)).await,
        }
    }};
}

/// Runs a statement in a transaction.
macro_rules! run_in_transaction {
    ($query:expr, $build:ident, $fetch:ident) => {{
        let (sql, target, timeout) = $query.into_parts()?;
        match target {
            Target::MySql(connection, arguments) => {
                with_timeout(timeout, $build(sql, arguments).$fetch(connection)).await
            }
            Target::Sqlite(connection, arguments) => {
                with_timeout(timeout, $build(sql, arguments).$fetch(connection)).await
            }
        }
        .map_err(before_commit)
    }};
}

macro_rules! fetch_methods {
    ($handle:ty, $run:ident) => {
        impl Query<$handle> {
            /// Returns all rows.
            pub async fn fetch_all<R: Row>(self) -> sqlx::Result<Vec<R>> {
                $run!(self, query_as_with, fetch_all)
            }

            /// Returns the first row, if there is any.
            pub async fn fetch_optional<R: Row>(self) -> sqlx::Result<Option<R>> {
                $run!(self, query_as_with, fetch_optional)
            }

            /// Returns the first row, or `RowNotFound`.
            pub async fn fetch_one<R: Row>(self) -> sqlx::Result<R> {
                self.fetch_optional().await?.ok_or(sqlx::Error::RowNotFound)
            }

            /// Returns the first column of all rows.
            pub async fn fetch_values<T: Column>(self) -> sqlx::Result<Vec<T>> {
                $run!(self, query_scalar_with, fetch_all)
            }

            /// Returns the first column of the first row, if there is any.
            pub async fn fetch_optional_value<T: Column>(self) -> sqlx::Result<Option<T>> {
                $run!(self, query_scalar_with, fetch_optional)
            }

            /// Returns the first column of the first row, or `RowNotFound`.
            pub async fn fetch_value<T: Column>(self) -> sqlx::Result<T> {
                self.fetch_optional_value().await?.ok_or(sqlx::Error::RowNotFound)
            }
        }
    };
}

fetch_methods!(&Reader, read);
fetch_methods!(&mut Transaction, run_in_transaction);

impl Query<&Writer> {
    /// Runs the statement as a transaction of its own, after earlier writers in the queue.
    pub async fn execute(self) -> sqlx::Result<WriteResult> {
        let (sql, target, timeout) = self.into_parts()?;
        match target {
            Target::MySql((pool, permits), arguments) => {
                let _permit = acquire_write_permit(permits).await?;
                let run = || with_timeout(timeout, query_with(sql.clone(), arguments.clone()).execute(pool));
                retry_on_conflict(run).await.map(WriteResult::from)
            }
            Target::Sqlite(pool, arguments) => {
                let run = query_with(sql, arguments).execute(pool);
                with_timeout(WRITER_QUEUE_TIMEOUT + timeout, run).await.map(WriteResult::from)
            }
        }
    }
}

impl Query<&mut Transaction> {
    /// Runs the statement.
    pub async fn execute(self) -> sqlx::Result<WriteResult> {
        let (sql, target, timeout) = self.into_parts()?;
        match target {
            Target::MySql(connection, arguments) => {
                with_timeout(timeout, query_with(sql, arguments).execute(connection)).await.map(WriteResult::from)
            }
            Target::Sqlite(connection, arguments) => {
                with_timeout(timeout, query_with(sql, arguments).execute(connection)).await.map(WriteResult::from)
            }
        }
        .map_err(before_commit)
    }
}
