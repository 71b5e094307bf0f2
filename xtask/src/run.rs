//! `cargo xtask run`: builds the program, then runs it in the foreground.

use std::process::Command;

use anyhow::{Context as _, Result};
use clap::Args;

use crate::{build, progress::say, workspace};

/// Options of `cargo xtask run`.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    build: build::Options,

    /// Options for the server, after `--`; `cargo xtask run -- --help` lists them
    #[arg(last = true)]
    server: Vec<String>,
}

/// Builds the program, and replaces this process with the server.
pub(crate) fn run(options: &Options) -> Result<()> {
    let program = build::program(options.build.release)?;
    say(&format!("starting {}", program.display()));
    let mut server = Command::new(&program);
    // Runs in the workspace folder, so that the embedded database is found no matter where this is called.
    server.args(&options.server).current_dir(workspace::root());
    become_server(server).with_context(|| format!("cannot start {}", program.display()))
}

/// Replaces this process with the server, so that Ctrl-C and the exit code are handled by the server.
#[cfg(unix)]
fn become_server(mut server: Command) -> Result<()> {
    use std::os::unix::process::CommandExt as _;
    Err(server.exec().into())
}

/// Runs the server and returns its exit code.
#[cfg(not(unix))]
fn become_server(mut server: Command) -> Result<()> {
    let status = crate::shell::status(&mut server)?;
    std::process::exit(status.code().unwrap_or(1));
}
