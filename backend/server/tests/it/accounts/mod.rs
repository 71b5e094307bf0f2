//! Accounts over HTTP: who may do what (`rights`), signing in and the attacks on it (`sign_in`, `strangers`, by an issuer
//! `openid`), names and passwords (`user_names`), API keys (`keys`), limits under many requests at once (`races`), how
//! accounts come to be (`links`), one's own (`me`), how much one may have answered (`limits`), what becomes of what one deletes
//! (`deletion`), and what happens to streams when a reader's rights end (`streams`).

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
