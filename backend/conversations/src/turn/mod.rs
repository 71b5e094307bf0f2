//! Turns of a conversation: one user message and the run that answers it.
//!
//! - `start` stores a turn and starts it. `api::start` does so for API clients.
//! - `run` runs it, while `lease` keeps the turn's lease: `context` builds the prompt context, `recorder` stores and
//!   publishes the result, `plan` is plan mode.
//! - `approval` decides on tool calls that wait. `resume` continues a turn after a decision or an interruption, in the
//!   state that `resume_state` reads.
//! - `finish` writes the end of a turn, and `stop` stops it. `title`, `explain` and `side_call` make auxiliary model
//!   calls.
//! - `subscribe` streams events to clients, and replays finished turns.
//! - `recovery` closes turns whose process has died, and purges old records.
//! - `api` has what only API clients use: chained responses, their own history, and tool calls that they run
//!   themselves.

pub(crate) mod api;
pub(crate) mod approval;
pub(crate) mod context;
mod documents;
mod explain;
pub(crate) mod finish;
#[cfg(test)]
mod largest_events;
mod lease;
mod plan;
mod read_file;
pub(crate) mod recorder;
pub(crate) mod recovery;
pub(crate) mod resume;
pub(crate) mod resume_state;
mod run;
mod side_call;
pub(crate) mod start;
pub(crate) mod stop;
pub(crate) mod subscribe;
#[cfg(test)]
pub(crate) mod testing;
mod title;

pub use api::{
    chain::{Chaining, ResponseInput, StoredResponse},
    client_calls::ClientCall,
    client_input::{ClientInput, ClientTool},
};
pub use approval::DecisionAnswer;
pub use resume::NextRun;
pub use start::{ApiClientRequest, StartedTurn};
pub use subscribe::EventsAnswer;
