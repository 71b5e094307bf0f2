//! The SQL of the book, by what is read: calls one by one in `calls`, a call or a conversation whole in `whole`, and who has
//! looked at whose in `looks`, what was run again in `reruns`,
//! by what plans answers were made in `plans`. What a filter asks for becomes SQL in `condition`; what the calls are found by is written
//! down in `facts`, what there was in each hour in `figures`, and that is summed up in `sums`. It runs beside turns, so nothing here locks what they write, or reads without a limit.

pub(super) mod calls;
pub(super) mod condition;
pub(super) mod facts;
pub(super) mod figures;
pub(super) mod looks;
pub(super) mod plans;
pub(super) mod reruns;
mod sql;
pub(super) mod sums;
pub(super) mod whole;
