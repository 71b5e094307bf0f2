//! A conversation is a tree of messages: which branch of it is shown (`select`), how much of that is read (`window`), and the
//! tree itself (`tree`).

mod select;
pub(super) mod tree;
mod window;
