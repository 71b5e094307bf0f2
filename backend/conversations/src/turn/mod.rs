//! Turns of a conversation: one user message and the run that answers it. The files by subject:
//!
//! - Start: `begin` (messages), `answer_program` (`/v1` and `/api/chat`), `start`.
//! - Resume: `continue_turn`, `consent` and `waiting` (after an approval), `go_on`; `continued` restores the calls.
//! - Run: `run`; `title` and `memory` write a title and a summary after it.
//! - Storage: `writer`, `group_commit`, `storing_recorder`, `call_events`, `thinking`, `step_text`, `write_error`.
//! - End: `end`; `stop` and `stop_waiting` stop a turn.
//! - Prompt context: `telling`, `telling_choice`, `history`, `exchange_tokens`, `given`, `restored`, `response`.
//! - Tool calls that the API client runs: `client_calls`.
//! - Events for subscribers: `subscribe`, `next_run`, `remote_tail`, `stored_end`; `playback` replays a finished turn.
//! - Explanation of an answer in a few lines: `reasoning`. Usage of auxiliary model calls: `aside_call`.
//! - Maintenance: `recovery` closes turns whose process is gone, `retention` purges old records.
//! - Answers with a plan: `planned`.

mod answer_program;
mod aside_call;
mod begin;
mod call_events;
mod client_calls;
mod consent;
mod continue_turn;
mod continued;
mod end;
mod exchange_tokens;
mod given;
mod go_on;
pub(crate) mod group_commit;
mod history;
#[cfg(test)]
mod largest_events;
mod memory;
mod next_run;
mod planned;
mod playback;
mod reasoning;
pub(crate) mod recovery;
mod remote_tail;
mod response;
mod restored;
pub(crate) mod retention;
mod run;
mod start;
mod step_text;
pub(crate) mod stop;
mod stop_waiting;
mod stored_end;
mod storing_recorder;
mod subscribe;
mod telling;
mod telling_choice;
#[cfg(test)]
pub(crate) mod testing;
mod thinking;
mod title;
pub(crate) mod waiting;
mod write_error;
mod writer;

pub use answer_program::{ProgramRequest, ProgramTurn};
pub use client_calls::ClientCall;
pub use consent::DecisionAnswer;
pub use given::{ClientTool, GivenInput};
pub use next_run::NextRun;
pub use response::{Chaining, ResponseInput, StoredResponse};
pub use subscribe::EventsAnswer;
