//! One file per page.

pub(crate) mod chat;
mod drawer;
pub(crate) mod not_found;
mod orders;
#[cfg(feature = "ssr")]
pub(crate) mod played;
#[cfg(feature = "ssr")]
pub(crate) mod shared;
