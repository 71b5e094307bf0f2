//! Tallybook's server: settings (`config`), HTTP (`http`), start and shutdown (`application`), and the check of stored
//! data (`consistency`). The use cases are in the crates `tallybook-conversations`, `tallybook-tool-history` and
//! `tallybook-accounts`.

pub mod application;
pub mod config;
pub mod consistency;
pub mod http;
mod page_files;
