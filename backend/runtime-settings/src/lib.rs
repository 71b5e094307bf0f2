//! Settings that admins change while the server runs: the models and tool servers that they add to those of the
//! settings file, with their encrypted secrets, and tests of them; settings of the server; budgets; and groups of users
//! with their permissions. Every server of a database applies a change within two seconds.

mod budget_store;
mod budgets;
mod configured;
mod effective;
mod entries;
mod error;
mod group_store;
mod groups;
mod kind;
mod model_source;
mod model_test;
mod models;
mod problems;
mod seal;
mod server_settings;
mod service;
mod settings_store;
mod store;
mod summary;
mod tool_server_source;
mod tool_servers;
mod unusable;

pub use configured::Configured;
pub use effective::{MAX_WAIT_HOURS, retention};
pub use error::SettingsError;
pub use kind::EntryKind;
pub use problems::{BudgetProblem, GroupProblem, SettingProblem, ValueProblem};
pub use seal::{SealError, Sealer};
pub use server_settings::{read_retention, read_settings};
pub use service::{RuntimeSettings, Services};
pub use summary::{AddedModel, AddedToolServer, MergedSettings, merge_stored};
