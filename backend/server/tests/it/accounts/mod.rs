//! Tests of accounts over HTTP.
//!
//! - Access: permissions (`rights`), sign-in and attacks on it (`sign_in`, `strangers`, and with an identity provider
//!   `openid`), API keys (`keys`, `programs`), streams of users whose access is revoked (`streams`).
//! - Accounts: their creation (`links`), names and passwords (`user_names`), the user's own account (`me`), admins' changes of
//!   it (`changes`), deletion (`deletion`).
//! - Limits: per user (`limits`, `side_doors`), and under concurrent requests (`races`).
//! - Data: shared conversations (`sharing`), secrets (`canaries`), and the tool history for admins (`tool_history`).

#[cfg(unix)]
mod canaries;
mod changes;
mod deletion;
mod keys;
mod kit;
mod limits;
mod links;
mod me;
mod openid;
mod programs;
mod races;
pub(crate) mod rights;
mod sharing;
mod side_doors;
mod sign_in;
mod strangers;
mod streams;
mod tool_history;
mod user_names;
