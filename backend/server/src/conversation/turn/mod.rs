//! Turns: how one begins (`begin`, `continue_turn`, `start`), runs (`run`), is stored (`writer`, `recorder`) and ends (`end`);
//! what its model is told (`history`, `resumed`); how readers follow it (`subscribe`, `remote_tail`, `stored_end`), how it is
//! stopped (`stop`), and what is done about turns whose process is gone (`recovery`) or that are long over (`retention`).

mod begin;
mod continue_turn;
mod end;
mod history;
mod recorder;
pub(super) mod recovery;
mod remote_tail;
mod resumed;
pub(super) mod retention;
mod run;
mod start;
mod step_text;
pub(super) mod stop;
mod stored_end;
mod subscribe;
#[cfg(test)]
mod testing;
mod title;
mod writer;

pub use subscribe::EventsAnswer;
