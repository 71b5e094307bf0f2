//! The macros by which one SQL text serves both engines.

/// Runs one body on whichever engine the pool is of, for as long as the database may take, or for what another limit in
/// `timeouts` gives it. The body is compiled once for each. A server that refuses a statement in favour of another one is asked again,
/// so a body has one statement that changes anything, or several that may be run twice.
macro_rules! on_db {
    ($db:expr, |$pool:ident| $body:expr) => {
        $crate::db::on_db!($db, $crate::db::in_time, |$pool| $body)
    };
    ($db:expr, $in_time:path, |$pool:ident| $body:expr) => {
        match $db {
            $crate::db::Database::MySql($pool, _) => $crate::db::unless_refused(|| $in_time(async { $body })).await,
            $crate::db::Database::Sqlite($pool, _) => $in_time(async { $body }).await,
        }
    };
}

/// The same for a statement that writes and is a transaction of its own.
macro_rules! write_db {
    ($db:expr, |$pool:ident| $body:expr) => {
        match $db {
            $crate::db::Database::MySql($pool, places) => match $crate::db::place_to_write(places).await {
                Ok(_place) => $crate::db::unless_refused(|| $crate::db::in_time(async { $body })).await,
                Err(error) => Err(error),
            },
            $crate::db::Database::Sqlite(_, $pool) => $crate::db::in_writer_time(async { $body }).await,
        }
    };
}

/// Runs one body on the connection of whichever engine the transaction is on, for as long as the database may take. An error says
/// that the transaction has not come to its commit.
macro_rules! on_tx {
    ($tx:expr, |$connection:ident| $body:expr) => {
        match $tx {
            $crate::db::Transaction::MySql(transaction, _) => {
                let $connection = &mut **transaction;
                $crate::db::in_time(async { $body }).await.map_err($crate::db::before_commit)
            }
            $crate::db::Transaction::Sqlite(transaction) => {
                let $connection = &mut **transaction;
                $crate::db::in_time(async { $body }).await.map_err($crate::db::before_commit)
            }
        }
    };
}

pub(crate) use {on_db, on_tx, write_db};
