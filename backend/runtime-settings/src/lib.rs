//! Settings that admins change while the server runs: the models that they add to those of the settings file, with
//! their encrypted keys, and tests of them. Every server of a database applies a change within two seconds.

mod error;
mod model_test;
mod models;
mod seal;
mod service;
mod store;

pub use error::SettingsError;
pub use seal::{SealError, Sealer};
pub use service::{ConfiguredEntries, RuntimeSettings};
