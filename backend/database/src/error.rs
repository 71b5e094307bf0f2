//! Errors of opening a database.

use crate::failure::{FailureKind, classify};

/// An error of opening a database. The messages say what the operator can do, and never contain passwords.
#[derive(Debug, thiserror::Error)]
pub enum DbError {
    /// The URL begins with neither `mysql:` nor `sqlite:`.
    #[error("DATABASE_URL must begin with sqlite: or mysql:, as in mysql://USER:PASSWORD@HOST/DATABASE")]
    UnknownScheme,
    /// The URL does not parse.
    #[error(
        "DATABASE_URL is not a valid URL: {0}. Write it as mysql://USER:PASSWORD@HOST/DATABASE. In a name or a \
         password, percent-encode characters such as @ : / # ? % (@ is %40)."
    )]
    BadUrl(String),
    /// The URL has a server but no database name.
    #[error(
        "DATABASE_URL has no database name. Add one at the end, as in mysql://USER:PASSWORD@HOST/tallybook. To create \
         a database, run CREATE DATABASE tallybook."
    )]
    NoDatabase,
    /// The URL has no file name.
    #[error("DATABASE_URL has no file name. Add one, as in sqlite://data/tallybook.db.")]
    NoFile,
    /// The folder of an SQLite file could not be created.
    #[error("cannot create the folder {folder} for the database: {source}")]
    Folder {
        /// The folder.
        folder: String,
        /// The cause.
        source: std::io::Error,
    },
    /// An SQLite file, or its lock file next to it, cannot be used.
    #[error(
        "cannot create or lock the file {path}: {source}. Allow the program to write there, or set DATABASE_URL to \
         another file."
    )]
    Lock {
        /// The file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// Another process uses the SQLite database.
    #[error(
        "another Tallybook process uses {path}. Stop it first, or set DATABASE_URL to another file. To run several \
         servers, use MySQL."
    )]
    InUse {
        /// The database.
        path: String,
    },
    /// The SQLite file has several names in the file system (hard links).
    #[error(
        "{path} is a file with {links} names (hard links). SQLite would write a journal for each name and corrupt the \
         data. Remove the other names, or set DATABASE_URL to a copy made with sqlite3 {path} \"VACUUM INTO \
         'copy.db'\"."
    )]
    HardLinks {
        /// The database.
        path: String,
        /// Number of the file's names.
        links: u64,
    },
    /// A MySQL database cannot be copied as a file.
    #[error(
        "Tallybook can only back up and restore an embedded database (sqlite:). For MySQL, use its own tools, such as \
         mysqldump --single-transaction."
    )]
    NotEmbedded,
    /// The backup's file already exists. Backups overwrite no file.
    #[error("{path} already exists. Choose another file name.")]
    FileExists {
        /// The file.
        path: String,
    },
    /// The backup cannot be written, or the database cannot be read.
    #[error("cannot write the backup {path}: {source}.{}", advice(.source))]
    NotBackedUp {
        /// The backup's file.
        path: String,
        /// The cause.
        source: sqlx::Error,
    },
    /// The backup's file cannot be read.
    #[error("cannot read the backup {path}: {source}. Check the path and its permissions. The database is unchanged.")]
    BackupUnreadable {
        /// The file.
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The backup is the database's own file.
    #[error(
        "{path} is the database itself, not a backup of it. Name a file that `tallybook admin backup` wrote. The \
         database is unchanged."
    )]
    BackupOfItself {
        /// The file.
        path: String,
    },
    /// The file is not a database of Tallybook.
    #[error(
        "{path} is not a backup of Tallybook: it {problem}. Name a file that `tallybook admin backup` wrote. The \
         database is unchanged."
    )]
    NotABackup {
        /// The file.
        path: String,
        /// The problem with the file, as the rest of a sentence.
        problem: String,
    },
    /// The backup's file is incomplete or damaged.
    #[error(
        "the backup {path} is damaged: {problem}. Copy it again from where you keep it, or restore another backup. The \
         database is unchanged."
    )]
    BackupDamaged {
        /// The file.
        path: String,
        /// The damage, as SQLite describes it.
        problem: String,
    },
    /// The backup is of another program, of a later version, or cannot be migrated.
    #[error("cannot restore the backup {path}: {source} The database that you have is unchanged.")]
    NotRestored {
        /// The file.
        path: String,
        /// The cause, as for a database that is opened.
        source: Box<DbError>,
    },
    /// The file's path is not valid Unicode, which SQLite requires.
    #[error("the file name {path} is not valid Unicode. Choose another one.")]
    BadPath {
        /// The file.
        path: String,
    },
    /// The file is not an SQLite database.
    #[error("{path} is not an SQLite database. Set DATABASE_URL to another file.")]
    NotADatabase {
        /// The file.
        path: String,
    },
    /// The database server does not respond.
    #[error(
        "the database does not respond ({at}): {source}. Start the database server, or correct the host and port in \
         DATABASE_URL."
    )]
    Unreachable {
        /// Location of the database, from the URL.
        at: String,
        /// The cause.
        source: sqlx::Error,
    },
    /// Wrong name or password.
    #[error(
        "the database server rejects the user {user} ({at}). Correct the name and the password in DATABASE_URL. \
         Percent-encode characters such as @ : / # ? % in them (@ is %40)."
    )]
    AccessDenied {
        /// Location of the database, from the URL.
        at: String,
        /// The user.
        user: String,
    },
    /// The server has no such database.
    #[error(
        "the server has no database {database} ({at}). Create it with CREATE DATABASE {database}, or correct \
         DATABASE_URL."
    )]
    UnknownDatabase {
        /// Location of the database, from the URL.
        at: String,
        /// Name of the database.
        database: String,
    },
    /// The user lacks permissions on the database.
    #[error(
        "the user {user} lacks permissions on {database} ({at}), at least those for migrations. Grant them with GRANT \
         ALL ON {database}.* TO the user, or correct DATABASE_URL."
    )]
    NotAllowed {
        /// Location of the database, from the URL.
        at: String,
        /// The user.
        user: String,
        /// The database's name.
        database: String,
    },
    /// Some other failure to connect.
    #[error("cannot open the database ({at}): {source}. Check DATABASE_URL.")]
    Connect {
        /// Location of the database, from the URL.
        at: String,
        /// The cause.
        source: sqlx::Error,
    },
    /// The tables belong to another program.
    #[error(
        "the database does not belong to Tallybook: it contains {tables}. Set DATABASE_URL to a database for Tallybook \
         alone; it can be empty."
    )]
    ForeignTables {
        /// Some of the tables.
        tables: String,
    },
    /// A newer version of Tallybook has used the database.
    #[error(
        "the database is newer than this program: its schema has version {found}, and this program supports {known}. \
         Start the version of Tallybook that was used last or a newer one, or restore an older backup."
    )]
    Newer {
        /// The version of the tables.
        found: i64,
        /// The latest version that the program supports.
        known: i64,
    },
    /// Another build created the tables: one of its migrations differs from the one of this program.
    #[error(
        "another build of Tallybook created the database's tables: its migration {0} differs from that of this \
         program. Start the build that created the tables, or set DATABASE_URL to another database."
    )]
    Changed(i64),
    /// A first start was interrupted, and the database contains tables that it cannot have created.
    #[error(
        "an earlier start was interrupted while it created the database's tables, and the database contains tables of \
         another origin ({0}). Set DATABASE_URL to an empty database, or restore a backup."
    )]
    Unfinished(String),
    /// Another process is migrating the database and does not finish.
    #[error(
        "another process has been migrating the database for {0} seconds. Wait until it has finished, then start again."
    )]
    Migrating(u64),
    /// A migration failed.
    #[error("cannot migrate the database: {source}.{}", advice(.source))]
    Migrate {
        /// The cause.
        #[from]
        source: sqlx::Error,
    },
}

fn advice(error: &sqlx::Error) -> &'static str {
    match classify(error) {
        FailureKind::Transient => " Start again when the database is reachable.",
        FailureKind::StorageFull => " Free space, make the database writable, and start again.",
        FailureKind::Permanent => "",
    }
}
