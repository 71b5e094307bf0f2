//! Tallybook's server, with one module per subject. Dependencies point one way: `http` → `history` → the crate
//! `tallybook-conversations`, and from there to `tallybook-accounts` and `tallybook-database`. Other subjects that
//! need no server have crates of their own, too: `tallybook-agent`, `tallybook-llm`, `tallybook-tools`,
//! `tallybook-mcp`, and `tallybook-demo-model`.

pub mod application;
pub mod config;
pub mod consistency;
pub mod http;
mod page_files;
