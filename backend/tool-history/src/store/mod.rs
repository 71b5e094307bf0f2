//! SQL of the tool history, by subject: calls in `calls`, a single call or conversation in `details`, access records in
//! `access_log`, re-runs in `reruns`, plans in `plans`. `condition` turns a filter into SQL. `denormalize` fills in the
//! index columns of calls. `figures` counts each hour, and `totals` adds these counts up.
//!
//! These statements run while turns run. So none of them locks rows that turns write, and each reads a limited number
//! of rows.

pub(crate) mod access_log;
pub(crate) mod calls;
pub(crate) mod condition;
pub(crate) mod denormalize;
pub(crate) mod details;
pub(crate) mod figures;
pub(crate) mod plans;
pub(crate) mod reruns;
mod sql;
pub(crate) mod totals;
