//! Conversations: their list (`list`), which branch of one is shown and how much of it (`branch`), where something stands
//! in them (`search`), the turns that run in them (`turn`), one of their tool calls (`tool_call`), a conversation as a file
//! (`export`), and what is stored (`store`). Knows no HTTP.

mod branch;
mod changes;
mod context;
mod error;
mod export;
mod input;
mod lifecycle;
mod limits;
mod list;
mod search;
mod service;
mod store;
mod tool_call;
mod turn;
mod turn_counts;

pub use context::Lifetimes;
pub use error::ServiceError;
pub use export::{Export, ExportFormat};
pub use service::ConversationService;
pub use store::ListFilter;
pub use tool_call::CallPart;
pub use turn::EventsAnswer;
pub(crate) use turn_counts::TurnCounts;
