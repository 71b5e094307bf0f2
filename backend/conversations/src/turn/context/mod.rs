//! Builds the context that the model receives: window of messages, summary and token estimates.

pub(crate) mod builder;
pub(crate) mod exchange_tokens;
pub(crate) mod history;
pub(crate) mod summary;
pub(crate) mod window;
