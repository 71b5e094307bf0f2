//! SQL for conversations, messages, turns, plans, tool calls, their approvals and reviews, share links, summaries and retention.
//! The same statements serve both engines, so there is no `RETURNING`, no upsert and no `FOR UPDATE`. Work is claimed by a
//! conditional UPDATE that changes exactly one row.
//!
//! Only the tool history shows a conversation with `deleted_at`. Every statement here that finds a conversation by its owner
//! requires `deleted_at IS NULL`. A test reads all statements, and lists those that need not.

pub(crate) mod approvals;
mod columns;
pub(crate) mod conversations;
pub(crate) mod decisions;
mod list_of;
pub(crate) mod messages;
pub(crate) mod model_calls;
pub(crate) mod model_requests;
mod order;
pub(crate) mod people;
pub(crate) mod plain_calls;
pub(crate) mod plans;
pub(crate) mod programs;
pub(crate) mod reasonings;
pub(crate) mod responses;
pub(crate) mod retention;
pub(crate) mod reviews;
pub(crate) mod rows;
pub(crate) mod search;
pub(crate) mod shares;
pub(crate) mod summaries;
pub(crate) mod tool_calls;
pub(crate) mod tool_switches;
pub(crate) mod turns;
pub(crate) mod usage;

pub(crate) use columns::{stored_error_type, stored_id};
pub use conversations::ListFilter;
pub use programs::Program;
pub use rows::ConversationId;
