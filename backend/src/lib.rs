//! Tallybook's server. One module per room; dependencies point one way:
//! `http → conversation → {agent → {llm, tools}, journal, db}`.

pub mod accounts;
pub mod agent;
pub mod application;
pub mod config;
pub mod conversation;
pub mod db;
pub mod http;
pub mod journal;
pub mod llm;
pub mod tools;
