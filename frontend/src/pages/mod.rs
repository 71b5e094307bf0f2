//! One file per page.

pub(crate) mod chat;
pub(crate) mod not_found;
