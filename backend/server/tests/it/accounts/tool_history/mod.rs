//! The book that admins read: its list, its figures, what it takes to look at others', calls that are
//! played and run again, its files, and its documentation.

mod decided;
mod deciders;
mod export;
mod figures;
mod filters;
mod hidden_characters;
mod kit;
mod list;
mod looking;
mod playback;
mod purposes;
mod reruns;
mod sql;

pub(crate) use kit::{page, say_why};
