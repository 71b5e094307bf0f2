//! Turns of API clients (`/v1` and `/api/chat`): chained responses, client-supplied history, and tool calls that the
//! client runs.

pub(crate) mod chain;
pub(crate) mod client_calls;
pub(crate) mod client_input;
pub(crate) mod restore;
pub(crate) mod start;
