//! A conversation as a tree of messages: selecting the branch that is shown (`select`), reading a part of it (`window`), and
//! the tree itself (`tree`).

mod select;
pub(crate) mod tree;
mod window;
