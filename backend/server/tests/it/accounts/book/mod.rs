//! The book that admins read: its list, what it takes to look at others', its files, and its documentation.

mod kit;
mod list;
mod looking;
mod sql;
