//! Tallybook's server. One module per subject; dependencies point one way: `http → book → conversation → {accounts, journal} → db`. What needs
//! no server has a crate of its own: `tallybook-agent`, `tallybook-llm`, `tallybook-tools`,
//! `tallybook-mcp`, `tallybook-demo-model`.

pub mod accounts;
pub mod application;
mod book;
pub mod config;
pub mod consistency;
pub mod conversation;
pub mod http;
pub mod journal;
pub mod models;
mod page_files;
mod tool_pins;
mod work_counts;
