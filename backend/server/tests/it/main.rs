//! Integration tests: they run the whole server, mostly in this process, and send it real HTTP requests, on every
//! database engine. `mock-llm` plays the model. All tests are one binary, which links once.

// Tests nest futures, each of which contains a server.
#![recursion_limit = "256"]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    reason = "tests report failures by panicking; clippy allows that in test functions only, not in the test kit"
)]

mod support;

mod accounts;
mod activity;
mod added_models;
mod added_tool_servers;
mod agent_faults;
mod api_clients;
mod approvals;
mod audit_values;
mod bad_input;
mod branches;
mod budgets;
mod build_script;
mod call_files;
mod changes_across_replicas;
mod check_config;
mod command_line;
mod compression;
mod config_file;
mod config_mistakes;
mod conversations;
mod crash;
mod database_errors;
mod database_outages;
mod descending_keys;
mod document_texts;
mod endings;
mod evaluation;
mod export;
mod failed_turns;
mod feedback;
mod file_faults;
#[cfg(target_os = "linux")]
mod file_memory;
mod file_operations;
mod file_quota;
mod file_stores;
mod files;
mod fork;
mod full_disk;
mod history;
mod http10;
mod http_limits;
mod large_calls;
mod large_statements;
mod logging;
mod memory;
mod methods;
mod metrics;
mod migrations;
mod models;
mod native_calls;
mod one_connection;
mod openapi;
mod operator_commands;
mod origin_checks;
mod other_versions;
mod page;
mod pins;
mod plan;
mod playback;
#[cfg(unix)]
mod private_files;
mod prompt_files;
mod prompted;
mod provider_key;
mod reasoning;
mod replicas;
#[cfg(target_os = "linux")]
mod resident_memory;
mod resume;
mod retention;
mod search;
mod secrets;
mod server_settings;
mod settings_limits;
mod signals;
#[cfg(unix)]
mod start;
mod storage;
mod subscribers;
mod system_prompt;
mod titles;
mod tool_pins;
mod tool_processes;
mod tool_servers;
mod tool_switches;
#[cfg(unix)]
mod traces;
mod turns;
mod upgrade;
mod usage;
mod windows;
