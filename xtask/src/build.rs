//! `cargo xtask build`: builds the page and the server as one program. Other commands that need the program build it
//! here, too.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use clap::Args;

use crate::{
    progress::{Step, say},
    shell, ui, workspace,
};

/// Options of `cargo xtask build`.
#[derive(Args)]
#[group(skip)] // otherwise clap names the group `Options`, which is also the group of the command that includes these
pub(crate) struct Options {
    /// Build the release: a small page and a fast server in one file (takes much longer)
    #[arg(long)]
    pub(crate) release: bool,
}

/// Builds the program and prints its path.
pub(crate) fn run(options: &Options) -> Result<()> {
    let program = program(options.release)?;
    say(&describe(&program, options.release)?);
    Ok(())
}

/// Builds the page and the server, and returns the path of the server program.
pub(crate) fn program(release: bool) -> Result<PathBuf> {
    let page = ui::Options { release, sizes: false };
    if release {
        // A release server contains the page, so the page comes first.
        ui::build(&page)?;
        server(true)?;
    } else {
        ui::build_beside(&page, || server(false))?;
    }
    workspace::built(profile(release), "tallybook")
}

/// Builds the server without its page, and the mock model for manual tests.
pub(crate) fn without_page() -> Result<PathBuf> {
    programs(false, &["tallybook", "mock-llm"])?;
    workspace::built(profile(false), "tallybook")
}

/// Builds the tests, and every program with the features that the tests need. So tests and programs share their
/// dependencies.
pub(crate) fn tests() -> Result<()> {
    shell::run(shell::cargo().args(["test", "--workspace", "--no-run"]))?;
    // With `--examples`, cargo also enables the features that only tests need, as in the line above.
    shell::run(shell::cargo().args(["build", "--workspace", "--bins", "--examples"]))
}

/// Builds the benchmark program, and returns its path.
pub(crate) fn bench(release: bool) -> Result<PathBuf> {
    programs(release, &["tallybook-bench"])?;
    workspace::built(profile(release), "tallybook-bench")
}

/// Builds the program that generates tool calls, and returns its path.
pub(crate) fn seed(release: bool) -> Result<PathBuf> {
    let mut cargo = shell::cargo();
    cargo.args(["build", "--workspace", "--example", "seed"]);
    if release {
        // The program uses the server's library, but not the page.
        cargo.arg("--release").env("TALLYBOOK_WITHOUT_PAGE", "1");
    }
    shell::run(&mut cargo)?;
    workspace::built(profile(release), "examples/seed")
}

/// Builds the server program, in debug or release.
fn server(release: bool) -> Result<()> {
    programs(release, &["tallybook"])
}

fn programs(release: bool, names: &[&str]) -> Result<()> {
    let is_first = !workspace::built(profile(release), "tallybook")?.exists();
    let step = Step::begin("building programs", if is_first { "the first time takes about 5 minutes" } else { "" });
    let mut cargo = shell::cargo();
    // With `--workspace`, the dependencies are built once for all programs.
    cargo.args(["build", "--workspace"]).args(names.iter().flat_map(|name| ["--bin", name]));
    if release {
        cargo.arg("--release");
    }
    shell::run(&mut cargo)?;
    step.done("");
    Ok(())
}

/// Returns the profile's folder within cargo's target folder.
fn profile(release: bool) -> &'static str {
    if release { "release" } else { "debug" }
}

/// Describes the program: its path, its size, and whether it can be moved.
fn describe(program: &Path, release: bool) -> Result<String> {
    let bytes = fs::metadata(program).with_context(|| format!("cannot read {}", program.display()))?.len();
    let needs = if release { "it needs no other file" } else { "it reads the page from target/site, and stays here" };
    Ok(format!("the program is {} ({} MB): {needs}", program.display(), bytes.div_ceil(1_000_000)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_described_by_its_path_and_size() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("tallybook");
        fs::write(&program, vec![0; 1_000_001]).unwrap();
        let expected = format!("the program is {} (2 MB): it needs no other file", program.display());
        assert_eq!(describe(&program, true).unwrap(), expected);
        assert!(describe(&folder.path().join("gone"), true).is_err());
    }
}
