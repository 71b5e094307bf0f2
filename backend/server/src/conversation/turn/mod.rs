//! Turns: how one begins (`begin`, `answer_program`, `start`), goes on (`continue_turn`, `consent`, `go_on`), runs (`run`), is
//! stored (`writer`, `group_commit`, `storing_recorder`, `call_events`, `thinking`) and ends (`end`); what its model is told (`telling`,
//! `history`, `given`, `restored`, `response`, `continued`) and made of it (`memory`) and which calls are a program's to run
//! (`client_calls`); how readers follow it (`subscribe`,
//! `next_run`, `remote_tail`, `stored_end`) and play it again (`playback`), how it is stopped (`stop`), what was done for it
//! in a few lines (`reasoning`), and what is done about turns whose process is gone (`recovery`) or that are long over
//! (`retention`). What is particular to answers by a plan is in `planned`.

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
pub(super) mod group_commit;
mod history;
#[cfg(test)]
mod largest_events;
mod memory;
mod next_run;
mod planned;
mod playback;
mod reasoning;
pub(super) mod recovery;
mod remote_tail;
mod response;
mod restored;
pub(super) mod retention;
mod run;
mod start;
mod step_text;
pub(super) mod stop;
mod stop_waiting;
mod stored_end;
mod storing_recorder;
mod subscribe;
mod telling;
mod telling_choice;
#[cfg(test)]
pub(super) mod testing;
mod thinking;
mod title;
pub(super) mod waiting;
mod write_error;
mod writer;

pub use answer_program::{ProgramRequest, ProgramTurn};
pub use client_calls::ClientCall;
pub use consent::DecisionAnswer;
pub use given::{ClientTool, GivenInput};
pub use next_run::NextRun;
pub use response::{Chaining, ResponseInput, StoredResponse};
pub use subscribe::EventsAnswer;
