//! Turns of a conversation: one user message and the run that answers it.
//!
//! - `start` stores a turn and starts it, for the page (`message`) and for API clients (`api`).
//! - `run` runs it: `context` builds what the model receives, `recorder` stores and publishes the result, `plan` is plan mode.
//! - `approval` decides on tool calls that wait, and `resume` continues a turn after a decision or an interruption.
//! - `finish` writes the end of a turn, and stops turns. `title`, `explain` and `side_call` are model calls beside the answer.
//! - `subscribe` streams events to clients, and replays finished turns.
//! - `recovery` closes turns whose process is gone, and purges old records.
//! - `api` has what only API clients use: chained responses, their own history, and tool calls that they run themselves.

pub(crate) mod api;
pub(crate) mod approval;
pub(crate) mod context;
mod explain;
pub(crate) mod finish;
#[cfg(test)]
mod largest_events;
mod plan;
pub(crate) mod recorder;
pub(crate) mod recovery;
pub(crate) mod resume;
mod run;
mod side_call;
pub(crate) mod start;
pub(crate) mod subscribe;
#[cfg(test)]
pub(crate) mod testing;
mod title;

pub use api::{
    chain::{Chaining, ResponseInput, StoredResponse},
    client_calls::ClientCall,
    client_history::{ClientTool, GivenInput},
};
pub use approval::DecisionAnswer;
pub use resume::next_run::NextRun;
pub use start::api::{ProgramRequest, ProgramTurn};
pub use subscribe::EventsAnswer;
