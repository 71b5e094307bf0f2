//! Use cases of conversations. Independent of HTTP. By subject:
//! - `list` is the list of conversations, `feeds` has the open feeds, and `search` searches texts.
//! - `branch` selects the branch that is shown, and reads the part of it that the client requests.
//! - `turn` has the turns, `tool_call` reads one tool call, and `approvals` has saved approvals and accepts changed
//!   tools.
//! - `input` validates what users send, with the files of a message. `model` selects the model, and `tool_switches` the
//!   tools.
//! - `direct_calls` calls a model directly for API clients, and `standalone_calls` runs a tool outside any turn.
//! - `export` writes conversations to files, `share` publishes them with a link, and `fork` copies them to new ones.
//! - `feedback` stores the users' ratings of answers.
//! - `user_limits` and `admission` are the limits of a user, `budget` and `budget_checks` the budgets; `usage` reports
//!   token usage.
//! - `settings` has the settings, also those that change while the server runs, and `time_zones` has the users' time
//!   zones.
//! - `retention` purges deleted conversations, `erasure` erases all conversations of a user, and `store` has the SQL.

mod admission;
mod approvals;
mod branch;
mod budget;
mod budget_checks;
mod call_images;
mod context;
mod direct_calls;
mod erasure;
mod error;
mod export;
mod feedback;
mod feeds;
mod fork;
mod input;
pub mod journal;
mod lifecycle;
mod limits;
mod list;
pub mod models;
mod retention;
mod search;
mod service;
mod settings;
mod share;
mod standalone_calls;
mod store;
mod time_zones;
mod titles;
mod tool_call;
pub mod tool_pins;
mod tool_switches;
mod turn;
mod usage;
mod user_limits;
pub mod work_counts;

pub use admission::Access;
pub use budget::{Budget, BudgetOwner, BudgetUsedUp};
pub use direct_calls::DirectCallEvent;
pub use erasure::erase_conversations;
pub use error::ServiceError;
pub use export::{Export, ExportFormat, ExportParts};
pub use limits::MAX_PINNED;
pub use retention::{Deleted, count_deleted, purge_all_due};
pub use search::index::fill::index_all_messages;
pub use service::ConversationService;
pub use settings::{ChangeableSettings, ConversationSettings, CurrentSettings, MemorySettings, PlanSettings};
pub use store::{ApiClient, ConversationId, FeedbackRow, ListFilter};
pub use tool_call::CallPart;
pub use tool_switches::may_use;
pub use turn::{
    ApiClientRequest, Chaining, ClientCall, ClientInput, ClientTool, DecisionAnswer, EventsAnswer, NextRun,
    ResponseInput, StartedTurn, StoredResponse,
};
pub use user_limits::{Reached, UserLimits, Weight};
