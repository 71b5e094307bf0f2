//! Conversations: their list (`list`) and who is told of it (`feeds`), which branch of one is shown and how much of it (`branch`), where something stands
//! in them (`search`), which model answers (`model`) with which tools (`tool_switches`, `tool_definitions`), the turns that run in them (`turn`),
//! one of their tool calls (`tool_call`), a model that a program asks once (`plain`) and a tool that it calls without a turn
//! (`direct`), what is approved for good (`approvals`), a conversation as a file (`export`) or by a link (`share`), how much
//! one person may have answered (`person_limits`, `allowance`), when one is summed up (`memory_settings`), the time zones of users (`time_zones`), purging deleted conversations (`retention`), and what is stored
//! (`store`). Knows no HTTP.

mod allowance;
mod approvals;
mod branch;
mod context;
mod direct;
mod error;
mod export;
mod feeds;
mod input;
mod lifecycle;
mod limits;
mod list;
mod memory_settings;
mod model;
mod person_limits;
mod plain;
mod plan_settings;
mod retention;
mod search;
mod service;
mod share;
mod store;
mod time_zones;
mod titles;
mod tool_call;
mod tool_definitions;
mod tool_switches;
mod turn;
mod turn_counts;
mod usage;

pub use context::{ConversationSettings, Lifetimes};
pub use error::ServiceError;
pub use export::{Export, ExportFormat, ExportParts};
pub(crate) use limits::MAX_PINNED;
pub use memory_settings::MemorySettings;
pub use person_limits::{PersonLimits, Reached, Weight};
pub use plain::PlainEvent;
pub use plan_settings::PlanSettings;
pub use retention::{Deleted, count_deleted, purge_all_due};
pub use service::ConversationService;
pub(crate) use store::ConversationId;
pub use store::{ListFilter, Program};
pub use tool_call::CallPart;
pub use turn::{
    Chaining, ClientCall, ClientTool, DecisionAnswer, EventsAnswer, GivenInput, NextRun, ProgramRequest, ProgramTurn,
    ResponseInput, StoredResponse,
};
