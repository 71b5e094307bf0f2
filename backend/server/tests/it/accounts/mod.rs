//! Tests of accounts over HTTP.
//!
//! - Access: permissions (`rights`), sign-in and attacks on it (`sign_in`, `unauthenticated`, and with an identity
//!   provider `openid`), API keys (`keys`, `programs`), streams of users whose access is revoked (`streams`).
//! - Accounts: their creation (`links`), names and passwords (`user_names`), the user's own account (`me`), admins'
//!   changes of it (`changes`), deletion (`deletion`), erasure (`erasure`).
//! - Limits: per user (`limits`, `limit_bypasses`), and under concurrent requests (`races`).
//! - Data: shared conversations (`sharing`, `shared_copies`), secrets (`canaries`), and the tool history for admins
//!   (`tool_history`).

mod admin_changes;
#[cfg(unix)]
mod canaries;
mod concurrent_limits;
mod deletion;
mod erasure;
mod group_changes;
pub(crate) mod groups;
mod keys;
pub(crate) mod kit;
mod limit_bypasses;
mod limits;
mod links;
mod me;
mod openid;
mod programs;
pub(crate) mod rights;
mod shared_copies;
mod sharing;
mod sign_in;
mod streams;
pub(crate) mod tool_history;
mod unauthenticated;
mod user_names;
mod waiting_models;
