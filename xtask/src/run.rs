//! `cargo xtask run`: the program, built and then run in the foreground.

use std::process::Command;

use anyhow::{Context as _, Result};
use clap::Args;

use crate::{build, progress::say, workspace};

/// What to build, and what to tell the server.
#[derive(Args)]
pub(crate) struct Options {
    #[command(flatten)]
    build: build::Options,

    /// Options for the server, after `--`; `cargo xtask run -- --help` lists them
    #[arg(last = true)]
    server: Vec<String>,
}

/// Builds the program and becomes the server.
pub(crate) fn run(options: &Options) -> Result<()> {
    let program = build::program(options.build.release)?;
    say(&format!("starting {}", program.display()));
    let mut server = Command::new(&program);
    // The embedded database's folder is found again from wherever this is called.
    server.args(&options.server).current_dir(workspace::root());
    become_server(server).with_context(|| format!("cannot start {}", program.display()))
}

/// Replaces this program by the server, so that Ctrl-C and the exit code are the server's own affair.
#[cfg(unix)]
fn become_server(mut server: Command) -> Result<()> {
    use std::os::unix::process::CommandExt as _;
    Err(server.exec().into())
}

/// Runs the server and passes its exit code on.
#[cfg(not(unix))]
fn become_server(mut server: Command) -> Result<()> {
    let status = crate::shell::status(&mut server)?;
    std::process::exit(status.code().unwrap_or(1));
}
