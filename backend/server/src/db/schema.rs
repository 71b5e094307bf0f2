//! What a database holds before the program uses it, and whether that is ours.

use sqlx::{FromRow, migrate::Migrator};

use super::{cluster::LEASE_TABLE, error::DbError};

/// Where the driver notes which migrations were run.
pub(super) const MIGRATIONS_TABLE: &str = "_sqlx_migrations";

/// Whether a table is there for the sake of the migrations alone.
pub(super) fn is_bookkeeping(table: &str) -> bool {
    table == MIGRATIONS_TABLE || table == LEASE_TABLE
}

/// How many tables a message names.
const TABLES_NAMED: usize = 5;

/// A migration that was run, or begun.
#[derive(Debug, FromRow)]
pub(super) struct Applied {
    version: i64,
    checksum: Vec<u8>,
    success: bool,
}

/// The query for all [`Applied`].
pub(super) const LIST_APPLIED: &str = "SELECT version, checksum, success FROM _sqlx_migrations ORDER BY version";

/// What is in a database.
#[derive(Debug, Default)]
pub(super) struct Schema {
    /// The names of its tables and views.
    pub(super) tables: Vec<String>,
    pub(super) applied: Vec<Applied>,
}

impl Schema {
    /// Refuses what the program must not touch: somebody else's tables, and tables of a later version.
    pub(super) fn check(&self, migrator: &Migrator) -> Result<(), DbError> {
        let Some(oldest) = self.applied.first() else { return self.check_that_it_is_empty() };
        let known = |version| migrator.iter().find(|migration| migration.version == version);
        // Others count their migrations from 1, too, or by date.
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

    /// The migration that was begun and not ended, if there is one.
    pub(super) fn unfinished(&self) -> Option<i64> {
        self.applied.iter().find(|applied| !applied.success).map(|applied| applied.version)
    }

    /// Whether every migration was run to its end.
    pub(super) fn is_current(&self, migrator: &Migrator) -> bool {
        let is_done = |version| self.applied.iter().any(|applied| applied.version == version && applied.success);
        migrator.iter().all(|migration| is_done(migration.version))
    }

    fn check_that_it_is_empty(&self) -> Result<(), DbError> {
        let empty = self.tables.iter().all(|table| is_bookkeeping(table));
        if empty { Ok(()) } else { Err(self.foreign()) }
    }

    /// Whether it lacks the tables that every version of ours has had.
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
                0 => "the marks of another program's migrations".to_owned(),
                count if count > TABLES_NAMED => format!("{named} and {} more tables", count - TABLES_NAMED),
                _ => named,
            },
        }
    }
}

fn newer(found: i64, migrator: &Migrator) -> DbError {
    DbError::Newer { found, known: migrator.iter().map(|migration| migration.version).max().unwrap_or_default() }
}
