//! Parses `DATABASE_URL`. Its `Debug` output contains no password.

use std::{
    fmt,
    path::{Path, PathBuf},
    str::FromStr,
};

use sqlx::{mysql::MySqlConnectOptions, sqlite::SqliteConnectOptions};

use crate::{error::DbError, private_files};

/// Address of the database, with user and password.
#[derive(Clone)]
pub enum DatabaseUrl {
    /// A database on a MySQL or MariaDB server.
    MySql(MySqlConnectOptions),
    /// An embedded database.
    Sqlite(SqliteConnectOptions),
}

impl DatabaseUrl {
    /// Returns the file of an embedded database, or `None` for one in memory.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::Sqlite(options) => Some(options.get_filename()).filter(|file| !is_in_memory(file)),
            Self::MySql(_) => None,
        }
    }

    /// Returns the path of an embedded database's file if the file does not exist yet.
    pub fn missing_file(&self) -> Option<&Path> {
        self.file().filter(|file| !file.exists())
    }

    /// Returns `true` for an embedded database.
    pub fn is_embedded(&self) -> bool {
        matches!(self, Self::Sqlite(_))
    }

    /// Returns the path of the file with the key of the secrets in an embedded database: the path of the database and
    /// `.key`. Returns `None` for a database in memory or on a server.
    pub fn key_file(&self) -> Option<PathBuf> {
        self.file().map(|file| file.with_added_extension("key"))
    }

    /// Returns the files of an embedded database that other users of this machine may read or write. The next start
    /// removes these permissions.
    pub fn exposed_files(&self) -> Vec<PathBuf> {
        self.file().map(private_files::exposed_files).unwrap_or_default()
    }
}

impl FromStr for DatabaseUrl {
    type Err = DbError;

    fn from_str(url: &str) -> Result<Self, DbError> {
        match url.split_once(':').map(|(scheme, _)| scheme) {
            Some("sqlite") => parse_sqlite(url),
            Some("mysql" | "mariadb") => parse_mysql(url),
            _ => Err(DbError::UnknownScheme),
        }
    }
}

fn parse_sqlite(url: &str) -> Result<DatabaseUrl, DbError> {
    let options = SqliteConnectOptions::from_str(url).map_err(bad_url)?;
    if options.get_filename().as_os_str().is_empty() {
        return Err(DbError::NoFile);
    }
    // With this option, the driver opens a database in memory under the file's name, which `is_in_memory` does not
    // detect.
    if url.contains("mode=memory") && !is_in_memory(options.get_filename()) {
        return Err(DbError::BadUrl("use sqlite::memory: for a database in memory".to_owned()));
    }
    Ok(DatabaseUrl::Sqlite(options))
}

fn parse_mysql(url: &str) -> Result<DatabaseUrl, DbError> {
    let options = MySqlConnectOptions::from_str(url).map_err(bad_url)?;
    match options.get_database() {
        None => Err(DbError::NoDatabase),
        // If a password contains one of these characters unencoded, the rest of it is parsed as the database's name.
        Some(name) if name.contains(['/', '@', ':']) => {
            Err(DbError::BadUrl("the database's name contains one of / @ :".to_owned()))
        }
        Some(_) => Ok(DatabaseUrl::MySql(options)),
    }
}

/// Returns `true` for the driver's names of databases in memory.
fn is_in_memory(file: &Path) -> bool {
    file.to_string_lossy().starts_with("file:sqlx-in-memory")
}

fn bad_url(error: sqlx::Error) -> DbError {
    DbError::BadUrl(match error {
        sqlx::Error::Configuration(cause) => cause.to_string(),
        other => other.to_string(),
    })
}

/// Location of the data, for messages. Omits the user name and the password.
impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MySql(options) => match options.get_socket() {
                Some(socket) => write!(f, "MySQL at {}/{}", socket.display(), database_name(options)),
                None => write!(f, "MySQL at {}:{}/{}", options.get_host(), options.get_port(), database_name(options)),
            },
            Self::Sqlite(_) => match self.file() {
                Some(file) => match std::path::absolute(file) {
                    Ok(path) => path.display().fmt(f),
                    Err(_) => file.display().fmt(f),
                },
                None => f.write_str("in memory, lost at shutdown"),
            },
        }
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseUrl({self})")
    }
}

fn database_name(options: &MySqlConnectOptions) -> &str {
    options.get_database().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::DatabaseUrl;

    fn parse(url: &str) -> Result<DatabaseUrl, String> {
        url.parse().map_err(|error: super::DbError| error.to_string())
    }

    #[test]
    fn no_password_is_printed() {
        for url in
            ["mysql://tally:s3cret@db.example/book?ssl-mode=DISABLED", "mariadb://tally:s3cret@db.example:3307/book"]
        {
            let url = parse(url).unwrap();
            let printed = format!("{url} {url:?} {:?}", Some(&url));
            assert!(!printed.contains("s3cret") && printed.contains("db.example:330"), "{printed}");
        }
    }

    #[test]
    fn an_invalid_url_is_reported_without_its_password() {
        for (url, expected) in [
            ("postgres://tally:s3cret@localhost/book", "sqlite: or mysql:"),
            ("s3cret", "sqlite: or mysql:"),
            ("mysql://tally:s3cret@localhost", "has no database name"),
            ("mysql://tally:s3cret@localhost/", "has no database name"),
            ("mysql://tally:s3cret@localhost:http/book", "invalid port number"),
            ("mysql://tally:s3cret/pass@localhost/book", "percent-encode"),
            ("mysql://tally:12/s3cret@localhost/book", "percent-encode"),
            ("mysql://tally:s3cret#pass@localhost/book", "percent-encode"),
            ("sqlite://", "has no file name"),
            ("sqlite:data.db?journal=wal", "unknown query parameter"),
        ] {
            let error = parse(url).unwrap_err();
            assert!(error.contains(expected) && error.contains("DATABASE_URL"), "{url}: {error}");
            assert!(!error.contains("s3cret"), "{url}: {error}");
        }
    }

    #[test]
    fn a_database_in_memory_has_no_file() {
        assert!(parse("sqlite::memory:").unwrap().file().is_none());
        assert!(parse("sqlite:data.db").unwrap().file().is_some());
    }
}
