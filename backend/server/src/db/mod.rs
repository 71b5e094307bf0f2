//! The database: its address, pools, transactions, migrations, what its errors mean, and what lets one SQL text serve both
//! engines: two macros, and a text that is searched for. Queries themselves live with what they store
//! (`conversation::store`, …); this module knows no table but those that it needs for itself.

mod backup;
mod checkpoint;
mod clock;
mod cluster;
mod database;
mod error;
mod failure;
mod inserted_id;
mod integrity;
mod lock;
mod migrations;
mod on_db;
mod open;
mod pattern;
mod private_files;
mod retry;
mod schema;
mod timeouts;
mod url;
mod write_check;

pub use backup::restore;
pub use clock::now;
pub use cluster::MigrationLease;
pub(crate) use database::place_to_write;
pub use database::{Database, Transaction};
pub use error::DbError;
pub use failure::{FailureKind, classify};
pub(crate) use failure::{before_commit, broke_before_commit, is_rolled_back, storage_failed};
pub(crate) use inserted_id::InsertedId;
pub use lock::DatabaseLock;
pub(crate) use on_db::{on_db, on_tx, write_db};
pub(crate) use pattern::Pattern;
pub(crate) use retry::{TransactionError, unless_refused, with_retries};
pub(crate) use timeouts::{in_command_time, in_long_time, in_time, in_writer_time};
pub use url::DatabaseUrl;
