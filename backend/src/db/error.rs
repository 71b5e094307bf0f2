//! Why a database could not be opened.

/// Why a database could not be opened. The messages are for the operator; connection strings, which hold passwords,
/// never appear in them.
#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// Neither `mysql:` nor `sqlite:`.
    #[error("DATABASE_URL must begin with sqlite: or mysql:")]
    UnknownScheme,
    /// The address does not parse.
    #[error("DATABASE_URL is not a valid address: {0}")]
    BadUrl(#[source] sqlx::Error),
    /// The folder of an SQLite file could not be made.
    #[error("the folder {folder} for the database cannot be made: {source}")]
    Folder {
        /// The folder.
        folder: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The file beside an SQLite database that keeps it to one process cannot be used.
    #[error("the file {path} cannot be made or locked: {source}. Let the program write there, or set DATABASE_URL.")]
    Lock {
        /// The file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// Another process uses the SQLite database.
    #[error(
        "another Tallybook already uses {path}. Stop it first, or set DATABASE_URL to another file; several servers at \
         once need MySQL."
    )]
    InUse {
        /// The database.
        path: String,
    },
    /// No connection.
    #[error("the database cannot be opened: {0}. Check DATABASE_URL and that the server runs.")]
    Connect(#[source] sqlx::Error),
    /// The tables could not be brought up to date.
    #[error("the database's tables cannot be brought up to date: {0}")]
    Migrate(#[from] sqlx::migrate::MigrateError),
}
