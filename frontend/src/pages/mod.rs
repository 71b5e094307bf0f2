//! One file per page.

pub(crate) mod chat;
pub(crate) mod command_context;
mod drawer;
pub(crate) mod not_found;
#[cfg(feature = "ssr")]
pub(crate) mod played;
#[cfg(feature = "ssr")]
pub(crate) mod shared;
