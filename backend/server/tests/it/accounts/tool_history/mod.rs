//! The tool history for admins: the list, statistics, reasons for access to other users' data, playback, re-runs,
//! exports, and its documentation.

mod access_log;
mod deciders;
mod decisions;
mod export;
mod figures;
mod files;
mod filters;
mod hidden_characters;
mod kit;
mod list;
mod playback;
mod purposes;
mod reruns;
mod sql;

pub(crate) use kit::{calls_on, filtered, page, say_why};
