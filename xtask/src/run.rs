//! `cargo xtask run`: the page, the server, and then the server in the foreground.

use std::{path::PathBuf, process::Command};

use anyhow::{Context as _, Result};
use clap::Args;

use crate::{
    progress::{Step, say},
    shell, ui, workspace,
};

/// What to build, and what to tell the server.
#[derive(Args)]
pub(crate) struct Options {
    /// Build what people get: a small page and a fast server (takes much longer)
    #[arg(long)]
    release: bool,

    /// Options for the server, after `--`; `cargo xtask run -- --help` lists them
    #[arg(last = true)]
    server: Vec<String>,
}

/// Builds both and becomes the server.
pub(crate) fn run(options: &Options) -> Result<()> {
    let program = build(options.release)?;
    say(&format!("starting {}", program.display()));
    let mut server = Command::new(&program);
    // The embedded database's folder is found again from wherever this is called.
    server.args(&options.server).current_dir(workspace::root());
    become_server(server).with_context(|| format!("cannot start {}", program.display()))
}

/// Builds page and server, and gives back the server program.
pub(crate) fn build(release: bool) -> Result<PathBuf> {
    let page = ui::Options { release };
    if release {
        // The server of a release carries the page inside, so the page comes first.
        ui::build(&page)?;
        build_server(true)?;
    } else {
        ui::build_beside(&page, || build_server(false))?;
    }
    workspace::built(if release { "release" } else { "debug" }, "tallybook")
}

/// Builds the server program, in debug or release.
fn build_server(release: bool) -> Result<()> {
    let profile = if release { "release" } else { "debug" };
    let is_first = !workspace::built(profile, "tallybook")?.exists();
    let step = Step::begin("building the server", if is_first { "the first time takes about 5 minutes" } else { "" });
    let mut cargo = shell::cargo();
    // Chosen from the whole workspace, its dependencies are built with the features that the tests need as well, once.
    cargo.args(["build", "--workspace", "--bin", "tallybook"]);
    if release {
        cargo.arg("--release");
    }
    shell::run(&mut cargo)?;
    step.done("");
    Ok(())
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
    let status = shell::status(&mut server)?;
    std::process::exit(status.code().unwrap_or(1));
}
