//! The SQL of conversations, messages, turns, their plans and calls, the consent to those and the reviews of them, and of what is
//! shared, summed up or deleted. One text serves both engines, so there is no `RETURNING`, no upsert and no `FOR UPDATE`: work is claimed
//! by a conditional UPDATE that changes exactly one row.
//!
//! A conversation with `deleted_at` is there for the book alone. Every statement here that knows a conversation by its owner
//! says `deleted_at IS NULL`; a test reads them all, and names those that need not.

pub(super) mod approvals;
mod columns;
pub(super) mod conversations;
pub(super) mod decisions;
mod list_of;
pub(super) mod messages;
pub(super) mod model_calls;
pub(super) mod model_requests;
mod order;
pub(super) mod people;
pub(super) mod plain_calls;
pub(super) mod plans;
pub(super) mod programs;
pub(super) mod reasonings;
pub(super) mod responses;
pub(super) mod retention;
pub(super) mod reviews;
pub(super) mod rows;
pub(super) mod search;
pub(super) mod shares;
pub(super) mod summaries;
pub(super) mod tool_calls;
pub(super) mod tool_switches;
pub(super) mod turns;
pub(super) mod usage;

pub(super) use columns::{stored_id, stored_word};
pub use conversations::ListFilter;
pub use programs::Program;
pub(crate) use rows::ConversationId;
