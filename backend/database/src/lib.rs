//! Database access for SQLite and MySQL: URL, connections, statements, transactions, migrations and classification of
//! errors. The crates that own the tables contain the SQL; this crate contains only the SQL for its own tables.

mod backup;
mod batch;
mod checkpoint;
mod cluster;
mod database;
mod error;
mod failure;
mod integrity;
mod lock;
mod migrations;
mod open;
mod pattern;
mod private_files;
mod query;
mod retry;
mod schema;
mod time;
mod url;
mod write_check;

pub use backup::{back_up, restore};
pub use batch::MAX_IDS_PER_QUERY;
pub use cluster::MigrationLease;
pub use database::{Database, DatabaseCounts, Reader, Transaction, Writer};
pub use error::DbError;
pub use failure::{FailureKind, broke_before_commit, classify, is_rolled_back, is_unique_violation, storage_failed};
pub use lock::DatabaseLock;
pub use pattern::Pattern;
pub use private_files::create_new as create_private_file;
pub use query::{Argument, Column, Handle, Query, Row, Select, Values, WriteResult};
pub use retry::{TransactionError, with_retries};
pub use time::{COMMAND_TIMEOUT, LONG_STATEMENT_TIMEOUT, now, with_default_timeout};
pub use url::DatabaseUrl;
