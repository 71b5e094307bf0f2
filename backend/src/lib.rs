//! Tallybook's server. One module per room; dependencies point one way:
//! `http → conversation → {agent → {llm, tools}, journal, db}`.

pub mod llm;
pub mod tools;
