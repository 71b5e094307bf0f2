//! The rooms `llm` and `tools` of the server, compiled by themselves. They depend on no other room, and without the
//! others there are far fewer crates to instrument.

#![forbid(unsafe_code)]

#[path = "../../backend/src/llm/mod.rs"]
pub mod llm;
#[path = "../../backend/src/tools/mod.rs"]
pub mod tools;
