//! Determines whether a database is empty or belongs to Tallybook, to a later version of it, or to another program.

use sqlx::{FromRow, migrate::Migrator};

use crate::{cluster::LEASE_TABLE, error::DbError};

/// The driver's table of applied migrations.
pub(crate) const MIGRATIONS_TABLE: &str = "_sqlx_migrations";

/// Returns `true` for tables that only migrations use.
pub(crate) fn is_bookkeeping(table: &str) -> bool {
    table == MIGRATIONS_TABLE || table == LEASE_TABLE
}

/// Maximum number of tables that a message names.
const TABLES_NAMED: usize = 5;

/// A migration that was run or started.
#[derive(Debug, FromRow)]
pub(crate) struct Applied {
    version: i64,
    checksum: Vec<u8>,
    success: bool,
}

/// Selects all [`Applied`].
pub(crate) const LIST_APPLIED: &str = "SELECT version, checksum, success FROM _sqlx_migrations ORDER BY version";

/// Tables and applied migrations of a database.
#[derive(Debug, Default)]
pub(crate) struct Schema {
    /// Names of its tables and views.
    pub(crate) tables: Vec<String>,
    pub(crate) applied: Vec<Applied>,
}

impl Schema {
    /// Fails if the tables belong to another program, a later version or another build.
    pub(crate) fn check(&self, migrator: &Migrator) -> Result<(), DbError> {
        let Some(oldest) = self.applied.first() else { return self.check_that_it_is_empty() };
        let known = |version| migrator.iter().find(|migration| migration.version == version);
        // An equal version proves nothing: other programs also number their migrations from 1, or by date.
        if known(oldest.version).is_none_or(|first| *first.checksum != *oldest.checksum) && self.is_foreign() {
            return Err(self.foreign());
        }
        for applied in &self.applied {
            match known(applied.version) {
                None => return Err(newer(applied.version, migrator)),
                Some(migration) if *migration.checksum != *applied.checksum => {
                    return Err(DbError::Changed(applied.version));
                }
                Some(_) => {}
            }
        }
        Ok(())
    }

    /// Returns the version of the migration that was started and not finished, if there is one.
    pub(crate) fn unfinished(&self) -> Option<i64> {
        self.applied.iter().find(|applied| !applied.success).map(|applied| applied.version)
    }

    /// Returns `true` if every migration of this version is finished.
    pub(crate) fn is_current(&self, migrator: &Migrator) -> bool {
        let is_done = |version| self.applied.iter().any(|applied| applied.version == version && applied.success);
        migrator.iter().all(|migration| is_done(migration.version))
    }

    fn check_that_it_is_empty(&self) -> Result<(), DbError> {
        let empty = self.tables.iter().all(|table| is_bookkeeping(table));
        if empty { Ok(()) } else { Err(self.foreign()) }
    }

    /// Returns `true` if tables are missing that every version of Tallybook has.
    fn is_foreign(&self) -> bool {
        ["conversations", "messages"].iter().any(|ours| !self.tables.iter().any(|table| table == ours))
    }

    fn foreign(&self) -> DbError {
        let mut tables: Vec<&str> =
            self.tables.iter().map(String::as_str).filter(|table| !is_bookkeeping(table)).collect();
        tables.sort_unstable();
        let named = tables[..tables.len().min(TABLES_NAMED)].join(", ");
        DbError::ForeignTables {
            tables: match tables.len() {
                0 => "the migration table of another program".to_owned(),
                count if count > TABLES_NAMED => format!("{named} and {} more tables", count - TABLES_NAMED),
                _ => named,
            },
        }
    }
}

fn newer(found: i64, migrator: &Migrator) -> DbError {
    DbError::Newer { found, known: migrator.iter().map(|migration| migration.version).max().unwrap_or_default() }
}
