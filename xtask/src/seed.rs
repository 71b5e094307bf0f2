//! `cargo xtask seed`: fills a database with generated tool calls, to measure the tool history. The server's example of
//! the same name generates them, because it knows the tables.

use std::process::Command;

use anyhow::Result;
use clap::Args;

use crate::{build, progress::say, shell, workspace};

/// Options of `cargo xtask seed`.
#[derive(Args)]
pub(crate) struct Options {
    /// Number of tool calls to generate
    #[arg(long, default_value_t = 100_000)]
    tool_calls: u64,

    /// Database URL; the database is created if it is missing
    #[arg(long, default_value = "sqlite://target/seed/tallybook.db")]
    database_url: String,
}

/// Adds the tool calls to the database.
pub(crate) fn run(options: &Options) -> Result<()> {
    let Options { tool_calls, database_url } = options;
    say(&format!("generating {tool_calls} tool calls in {database_url}"));
    let mut seed = Command::new(build::seed(true)?);
    seed.args(["--tool-calls", &tool_calls.to_string(), "--database-url", database_url]);
    shell::run(seed.current_dir(workspace::root()))
}
