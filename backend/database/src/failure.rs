//! Classifies errors of the database: temporary, full storage, or permanent. The numbers are those of
//! <https://www.sqlite.org/rescode.html>, <https://dev.mysql.com/doc/mysql-errors/9.7/en/> and
//! <https://mariadb.com/kb/en/mariadb-error-code-reference/>.

use std::io;

use sqlx::{Error, error::DatabaseError, mysql::MySqlDatabaseError, sqlite::SqliteError};

/// Kind of an error of the database, by what a caller can do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureKind {
    /// A retry may succeed: no connection, a timeout, a lock, a deadlock, a server that is shutting down.
    Transient,
    /// The storage is full or read-only. The operator must act.
    StorageFull,
    /// The statement fails every time: a value too large, a constraint, a missing table, a row that cannot be decoded.
    Permanent,
}

/// Returns the kind of an error. A broken connection counts as temporary, even if the server closed it because a
/// statement is larger than it accepts; call [`crate::Transaction::check_statement_size`] before large statements.
pub fn classify(error: &Error) -> FailureKind {
    match error {
        Error::Database(error) => of_database(&**error),
        Error::Io(_)
        | Error::Tls(_)
        | Error::Protocol(_)
        | Error::PoolTimedOut
        | Error::PoolClosed
        | Error::WorkerCrashed
        | Error::BeginFailed => FailureKind::Transient,
        _ => FailureKind::Permanent,
    }
}

/// Returns a sentence for the user whose request failed.
pub fn storage_failed(error: &sqlx::Error) -> &'static str {
    match classify(error) {
        FailureKind::Transient => "The database is unreachable. Try again in a moment.",
        FailureKind::StorageFull => {
            "The server cannot save data: the database is full or read-only. Ask the administrator to free space or to \
             make it writable."
        }
        FailureKind::Permanent => {
            "The database rejected a statement of the server. Ask the administrator to check the server's log."
        }
    }
}

/// Returns `true` if a row with the same key exists.
pub fn is_unique_violation(error: &Error) -> bool {
    error.as_database_error().is_some_and(DatabaseError::is_unique_violation)
}

/// Returns `true` if the whole transaction was rolled back, so that a retry may succeed. After any other error it is
/// unknown whether something was stored.
pub fn is_rolled_back(error: &Error) -> bool {
    // 1205 is a lock timeout, after which the caller drops its transaction. `PoolTimedOut` means that no transaction
    // began; on SQLite, it is the timeout of the queue of writers.
    is_serialization_failure(error)
        || mysql_number(error) == Some(1205)
        || matches!(error, Error::PoolTimedOut)
        || broke_before_commit(error)
}

/// Returns `true` if the engine refused a statement or a commit at once and rolled the transaction back.
pub(crate) fn is_serialization_failure(error: &Error) -> bool {
    // Deadlock, which a cluster may detect only at the commit; transaction rolled back during the commit; cluster node
    // that is not ready, and so has not run the statement.
    matches!(mysql_number(error), Some(1213 | 3101 | 1047))
}

/// The connection broke within a transaction, before its commit, so the server rolls the transaction back.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct BeforeCommit(#[source] io::Error);

/// Marks a broken connection as an error before the transaction's commit. Leaves timeouts unmarked: after one, the
/// caller has waited too long for a retry.
pub(crate) fn before_commit(error: Error) -> Error {
    match error {
        Error::Io(cause) if cause.kind() != io::ErrorKind::TimedOut => {
            Error::Io(io::Error::new(cause.kind(), BeforeCommit(cause)))
        }
        error => error,
    }
}

/// Returns `true` if a connection broke within a transaction, before its commit.
pub fn broke_before_commit(error: &Error) -> bool {
    let Error::Io(error) = error else { return false };
    error.get_ref().is_some_and(<dyn std::error::Error + Send + Sync>::is::<BeforeCommit>)
}

/// Returns the number of an error of a MySQL or MariaDB server.
pub(crate) fn mysql_number(error: &Error) -> Option<u16> {
    error.as_database_error()?.try_downcast_ref::<MySqlDatabaseError>().map(MySqlDatabaseError::number)
}

fn of_database(error: &dyn DatabaseError) -> FailureKind {
    if let Some(error) = error.try_downcast_ref::<MySqlDatabaseError>() {
        return of_mysql(error.number(), error.code().unwrap_or_default(), error.message());
    }
    let code = error.try_downcast_ref::<SqliteError>().and_then(|error| error.code()?.parse().ok());
    code.map_or(FailureKind::Permanent, of_sqlite)
}

/// Classifies an extended result code of SQLite, whose lowest byte is the primary result code.
fn of_sqlite(code: u32) -> FailureKind {
    match (code & 0xff, code >> 8) {
        // READONLY, FULL, and the IOERR codes of writes: WRITE, FSYNC, DIR_FSYNC, TRUNCATE, SHMSIZE.
        (8 | 13, _) | (10, 3..=6 | 19) => FailureKind::StorageFull,
        // BUSY, LOCKED, NOMEM, INTERRUPT, other IOERR, CANTOPEN, PROTOCOL, SCHEMA.
        (5 | 6 | 7 | 9 | 10 | 14 | 15 | 17, _) => FailureKind::Transient,
        _ => FailureKind::Permanent,
    }
}

fn of_mysql(number: u16, sql_state: &str, message: &str) -> FailureKind {
    match number {
        // Cannot write to a file; disk full; table full; table is read only; the server, its storage, the transaction
        // or the database is read only; no right to write to the database, the table or a column.
        1021 | 1026 | 1036 | 1044 | 1114 | 1142 | 1143 | 1290 | 1792 | 1836 | 3989 => FailureKind::StorageFull,
        // Only the message of these errors contains the operating system's error.
        3 | 1004 | 1030 | 1180 if names_full_disk(message) => FailureKind::StorageFull,
        // A packet larger than max_allowed_packet; and a packet out of order, which is what MariaDB reports for the
        // rest of such a packet.
        1153 | 1156 => FailureKind::Permanent,
        // Out of memory or of connections; shutdown; timeouts of locks, statements and sessions; deadlock; killed; a
        // failed commit, for example because of a conflict within a cluster.
        1037 | 1038 | 1040 | 1041 | 1053 | 1077 | 1135 | 1180 | 1203 | 1205 | 1206 | 1213 | 1226 | 1317 | 1927
        | 1969 | 3024 | 3101 | 3169 | 3572 | 4031 => FailureKind::Transient,
        // Connection exceptions, and transactions rolled back.
        _ if sql_state.starts_with("08") || sql_state.starts_with("40") => FailureKind::Transient,
        _ => FailureKind::Permanent,
    }
}

/// Returns `true` if a message contains ENOSPC (28), EDQUOT (122 on Linux) or EROFS (30) in one of the formats that
/// servers use.
fn names_full_disk(message: &str) -> bool {
    ["error ", "errno: ", "Errcode: ", "OS errno "].iter().any(|before| {
        message.split(before).skip(1).any(|rest| {
            let number = rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
            matches!(number, "28" | "30" | "122")
        })
    })
}

#[cfg(test)]
mod tests {
    use std::io;

    use sqlx::Error;

    use super::{FailureKind, before_commit, classify, is_rolled_back, of_mysql, of_sqlite};

    #[test]
    fn a_connection_that_breaks_before_the_commit_is_retried_unless_it_timed_out() {
        let broken = |kind: io::ErrorKind| before_commit(Error::Io(kind.into()));
        assert!(is_rolled_back(&broken(io::ErrorKind::ConnectionReset)));
        assert_eq!(classify(&broken(io::ErrorKind::ConnectionReset)), FailureKind::Transient);
        assert!(!is_rolled_back(&broken(io::ErrorKind::TimedOut)));
        assert!(!is_rolled_back(&Error::Io(io::ErrorKind::ConnectionReset.into())), "the commit may have succeeded");
        assert!(is_rolled_back(&Error::PoolTimedOut), "nothing was begun");
    }

    #[test]
    fn connection_errors_are_temporary_and_value_errors_permanent() {
        for error in [Error::Io(io::ErrorKind::BrokenPipe.into()), Error::PoolTimedOut, Error::WorkerCrashed] {
            assert_eq!(classify(&error), FailureKind::Transient, "{error}");
        }
        for error in [Error::RowNotFound, Error::Decode("x".into()), Error::Encode("x".into())] {
            assert_eq!(classify(&error), FailureKind::Permanent, "{error}");
        }
    }

    #[test]
    fn result_codes_of_sqlite() {
        for (code, failure) in [
            (5, FailureKind::Transient),      // BUSY
            (517, FailureKind::Transient),    // BUSY_SNAPSHOT
            (266, FailureKind::Transient),    // IOERR_READ
            (13, FailureKind::StorageFull),   // FULL
            (778, FailureKind::StorageFull),  // IOERR_WRITE
            (1032, FailureKind::StorageFull), // READONLY_DBMOVED
            (1, FailureKind::Permanent),      // ERROR: no such table
            (18, FailureKind::Permanent),     // TOOBIG
            (2067, FailureKind::Permanent),   // CONSTRAINT_UNIQUE
            (11, FailureKind::Permanent),     // CORRUPT
        ] {
            assert_eq!(of_sqlite(code), failure, "{code}");
        }
    }

    #[test]
    fn error_numbers_of_mysql_and_mariadb() {
        for (number, sql_state, message, failure) in [
            (1213, "40001", "Deadlock found when trying to get lock", FailureKind::Transient),
            (1205, "HY000", "Lock wait timeout exceeded", FailureKind::Transient),
            (1053, "08S01", "Server shutdown in progress", FailureKind::Transient),
            (1180, "HY000", "Got error 149 during COMMIT", FailureKind::Transient),
            (1047, "08S01", "WSREP has not yet prepared node for application use", FailureKind::Transient),
            (1180, "HY000", "Got error 28 \"No space left on device\" during COMMIT", FailureKind::StorageFull),
            (
                3,
                "HY000",
                "Error writing file './binlog.000001' (Errcode: 28 \"No space left on device\")",
                FailureKind::StorageFull,
            ),
            (
                3,
                "HY000",
                "Error writing file '/tmp/x' (OS errno 28 - No space left on device)",
                FailureKind::StorageFull,
            ),
            (1114, "HY000", "The table 'messages' is full", FailureKind::StorageFull),
            (1290, "HY000", "The MariaDB server is running with the --read-only option", FailureKind::StorageFull),
            (1836, "HY000", "Running in read-only mode", FailureKind::StorageFull),
            (1153, "08S01", "Got a packet bigger than 'max_allowed_packet' bytes", FailureKind::Permanent),
            (1406, "22001", "Data too long for column 'x' at row 1", FailureKind::Permanent),
            (1062, "23000", "Duplicate entry '28' for key 'PRIMARY'", FailureKind::Permanent),
            (1030, "HY000", "Got error 168 from storage engine", FailureKind::Permanent),
            (1146, "42S02", "Table 'x' doesn't exist", FailureKind::Permanent),
        ] {
            assert_eq!(of_mysql(number, sql_state, message), failure, "{number}: {message}");
        }
    }
}
