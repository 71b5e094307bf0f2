//! SQL for conversations, messages, turns, plans, tool calls, their approvals and reviews, feedback, share links,
//! copies, summaries and retention. The same statements serve both engines, so there is no `RETURNING`, no upsert and
//! no `FOR UPDATE`. Work is claimed by a conditional UPDATE that changes exactly one row.
//!
//! Only the tool history shows a conversation with `deleted_at`. Every statement here that finds a conversation by its
//! owner requires `deleted_at IS NULL`. A test checks all statements, and lists the exceptions.

pub(crate) mod api_clients;
pub(crate) mod approvals;
pub(crate) mod budgets;
mod columns;
pub(crate) mod conversations;
pub(crate) mod copies;
pub(crate) mod decisions;
pub(crate) mod erasure;
pub(crate) mod feedback;
pub(crate) mod message_files;
pub(crate) mod messages;
pub(crate) mod model_calls;
pub(crate) mod model_requests;
pub(crate) mod plain_calls;
pub(crate) mod plans;
pub(crate) mod reasonings;
pub(crate) mod responses;
pub(crate) mod retention;
pub(crate) mod rows;
pub(crate) mod search;
pub(crate) mod search_index;
pub(crate) mod shares;
pub(crate) mod summaries;
pub(crate) mod tool_calls;
pub(crate) mod turn_settings;
pub(crate) mod turns;
pub(crate) mod usage;

pub use api_clients::ApiClient;
pub(crate) use columns::{stored_error_type, stored_id};
pub use conversations::ListFilter;
pub use rows::{ConversationId, FeedbackRow};
