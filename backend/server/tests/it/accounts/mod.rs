//! Accounts over HTTP: who may do what (`rights`), signing in and the attacks on it (`sign_in`, by an issuer `openid`), how
//! accounts come to be (`links`), one's own (`me`), how much one may have answered (`limits`), what becomes of what one deletes
//! (`deletion`), and what happens to streams when a reader's rights end (`streams`).

mod book;
#[cfg(unix)]
mod canaries;
mod deletion;
mod kit;
mod limits;
mod links;
mod me;
mod openid;
mod programs;
pub(crate) mod rights;
mod sharing;
mod sign_in;
mod streams;
