//! Errors of opening a database.

use crate::failure::{FailureKind, classify};

/// An error of opening a database. Messages tell the operator what to do, and never contain passwords.
#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// Neither `mysql:` nor `sqlite:`.
    #[error("DATABASE_URL must begin with sqlite: or mysql:, as in mysql://USER:PASSWORD@HOST/DATABASE")]
    UnknownScheme,
    /// The address does not parse.
    #[error(
        "DATABASE_URL is not a valid address: {0}. Write it as mysql://USER:PASSWORD@HOST/DATABASE; characters such as \
         @ : / # ? % in a name or a password must be percent-encoded (@ is %40)."
    )]
    BadUrl(String),
    /// A server is named, and no database on it.
    #[error(
        "DATABASE_URL names no database. Add the name of one at its end, as in mysql://USER:PASSWORD@HOST/tallybook; a \
         database is made with CREATE DATABASE tallybook."
    )]
    NoDatabase,
    /// No file is named.
    #[error("DATABASE_URL names no file. Add one, as in sqlite://data/tallybook.db.")]
    NoFile,
    /// The folder of an SQLite file could not be made.
    #[error("the folder {folder} for the database cannot be made: {source}")]
    Folder {
        /// The folder.
        folder: String,
        /// The cause.
        source: std::io::Error,
    },
    /// An SQLite file, or the one beside it that keeps it to one process, cannot be used.
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
    /// The SQLite file has another name in the file system.
    #[error(
        "{path} is a file with {links} names (hard links). SQLite would keep a journal for each of them, and tear the data. \
         Remove the other names, or set DATABASE_URL to a copy made with sqlite3 {path} \"VACUUM INTO 'copy.db'\"."
    )]
    HardLinks {
        /// The database.
        path: String,
        /// Number of the file's names.
        links: u64,
    },
    /// It cannot be copied as a file.
    #[error(
        "only an embedded database (sqlite:) is backed up and restored by Tallybook. For MySQL use its own tools, such as \
         mysqldump --single-transaction."
    )]
    NotEmbedded,
    /// The file exists and is not overwritten.
    #[error("{path} is there already. Name a file that is not.")]
    FileExists {
        /// The file.
        path: String,
    },
    /// SQLite accepts only names in Unicode.
    #[error("the name {path} is not in Unicode. Choose another one.")]
    BadPath {
        /// The file.
        path: String,
    },
    /// The file is not an SQLite database.
    #[error("{path} is no SQLite database. Set DATABASE_URL to another file.")]
    NotADatabase {
        /// The file.
        path: String,
    },
    /// No server answers.
    #[error(
        "no database answers ({at}): {source}. Start the database server, or correct the host and port in DATABASE_URL."
    )]
    Unreachable {
        /// Where it should be.
        at: String,
        /// The cause.
        source: sqlx::Error,
    },
    /// Wrong name or password.
    #[error(
        "the database server refuses the user {user} ({at}). Correct the name and the password in DATABASE_URL; characters \
         such as @ : / # ? % in them must be percent-encoded (@ is %40)."
    )]
    AccessDenied {
        /// Where.
        at: String,
        /// The user.
        user: String,
    },
    /// The server has no such database.
    #[error(
        "the server has no database {database} ({at}). Make it with CREATE DATABASE {database}; or correct DATABASE_URL."
    )]
    UnknownDatabase {
        /// Where.
        at: String,
        /// Its name.
        database: String,
    },
    /// The user has no rights there.
    #[error(
        "the user {user} has no right to {database} ({at}), or not enough to keep the tables up to date. \
         Give it with GRANT ALL ON {database}.* TO the user, or correct DATABASE_URL."
    )]
    NotAllowed {
        /// Where.
        at: String,
        /// The user.
        user: String,
        /// The database's name.
        database: String,
    },
    /// Some other failure to connect.
    #[error("the database cannot be opened ({at}): {source}. Check DATABASE_URL.")]
    Connect {
        /// Where.
        at: String,
        /// The cause.
        source: sqlx::Error,
    },
    /// The tables belong to something else.
    #[error(
        "the database is not Tallybook's: it holds {tables}. Set DATABASE_URL to a database of its own, which may be empty."
    )]
    ForeignTables {
        /// Some of the tables.
        tables: String,
    },
    /// A later Tallybook has used the database.
    #[error(
        "the database is newer than this program: its tables have version {found}, and the program knows {known}. Start the \
         Tallybook that was used last, or a newer one; or restore a backup from before."
    )]
    Newer {
        /// The version of the tables.
        found: i64,
        /// The latest that the program knows.
        known: i64,
    },
    /// The tables were made by a migration that has another text here.
    #[error(
        "the database's tables were made by another build of Tallybook: its migration {0} is not the one of this program. \
         Start the build that made them, or set DATABASE_URL to another database."
    )]
    Changed(i64),
    /// A first start broke off, and there is something in the database that it cannot have made.
    #[error(
        "the making of the database's tables broke off at an earlier start, and the database holds what that start did not \
         make ({0}). Set DATABASE_URL to an empty database, or restore a backup."
    )]
    Unfinished(String),
    /// Another process is bringing the tables up to date, and does not come to an end.
    #[error(
        "another process has been bringing the database's tables up to date for {0} seconds. Wait for it to end, then start \
         again."
    )]
    Migrating(u64),
    /// The tables could not be brought up to date.
    #[error("the database's tables cannot be brought up to date: {source}.{}", advice(.source))]
    Migrate {
        /// The cause.
        #[from]
        source: sqlx::Error,
    },
}

fn advice(error: &sqlx::Error) -> &'static str {
    match classify(error) {
        FailureKind::Transient => " Start again when the database can be reached.",
        FailureKind::StorageFull => " Make room, let the database be written to, and start again.",
        FailureKind::Permanent => "",
    }
}
