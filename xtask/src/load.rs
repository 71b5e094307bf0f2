//! `cargo xtask load` and `cargo xtask soak`: run many turns at once on the release program, and check that nothing was
//! lost or duplicated. The load test itself is in `bench/src/load/`.

use std::{path::Path, process::Command};

use anyhow::Result;
use clap::Args;

use crate::{build, progress::Step, shell, workspace};

/// Options of `cargo xtask load`.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    load: Load,
}

/// Options of `cargo xtask soak`.
#[derive(Args)]
pub(crate) struct SoakOptions {
    /// Duration in minutes
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    #[command(flatten)]
    load: Load,
}

#[derive(Args)]
#[group(skip)] // both commands include it
struct Load {
    /// Turns in each round
    #[arg(long, default_value_t = 500)]
    turns: usize,
    /// Turns that run at the same time
    #[arg(long, default_value_t = 500)]
    at_once: usize,
    /// Additional streams that stay idle
    #[arg(long, default_value_t = 0)]
    idle: usize,
    /// Empty database, as in `DATABASE_URL` [default: a new embedded one]
    #[arg(long, value_name = "URL")]
    database_url: Option<String>,
    /// Use the quick builds
    #[arg(long)]
    quick: bool,
}

/// Runs one round.
pub(crate) fn run(options: &Options) -> Result<()> {
    start(&options.load, None)
}

/// Runs rounds for some minutes.
pub(crate) fn soak(options: &SoakOptions) -> Result<()> {
    start(&options.load, Some(options.minutes))
}

/// Tests the load test: runs a few turns on the embedded database, with the programs that are already built. The turns
/// include every behavior of readers.
pub(crate) fn try_out() -> Result<()> {
    let [program, bench] = ["tallybook", "tallybook-bench"].map(|name| workspace::built("debug", name));
    shell::run(command(&program?, &bench?).args(["--turns", "60"]))
}

fn command(program: &Path, bench: &Path) -> Command {
    let mut command = Command::new(bench);
    command.current_dir(workspace::root()).arg("load").arg("--program").arg(program);
    command
}

fn start(load: &Load, minutes: Option<u64>) -> Result<()> {
    let program = build::program(!load.quick)?;
    let mut command = command(&program, &build::bench(!load.quick)?);
    let step = Step::begin("load", "");
    command.args(["--turns", &load.turns.to_string(), "--at-once", &load.at_once.to_string()]);
    command.args(["--idle", &load.idle.to_string()]);
    if let Some(url) = &load.database_url {
        command.args(["--database-url", url]);
    }
    if let Some(minutes) = minutes {
        command.args(["--minutes", &minutes.to_string()]);
    }
    shell::run(&mut command)?;
    step.done("");
    Ok(())
}
