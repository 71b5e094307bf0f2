//! Accounts over HTTP: who may do what (`rights`), signing in and the attacks on it (`sign_in`), how accounts come to be
//! (`links`), and what happens to streams when a reader's rights end (`streams`).

mod book;
mod kit;
mod links;
mod rights;
mod sign_in;
mod streams;
