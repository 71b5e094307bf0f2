//! `cargo xtask deb`: builds the release, and packs it as a Debian package with cargo-deb. `debian` installs packages.

use std::{fs, process::Command};

use anyhow::{Context as _, Result, ensure};

use crate::{build, notices, shell, workspace};

/// Folder of the files that are generated for the package. `backend/server/Cargo.toml` says where they are installed.
const FOLDER: &str = "target/package";

/// Generated files, and the arguments with which the program prints them.
const PRINTED: [(&str, &[&str]); 4] = [
    ("tallybook.1", &["man"]),
    ("tallybook.bash", &["completions", "bash"]),
    ("_tallybook", &["completions", "zsh"]),
    ("tallybook.fish", &["completions", "fish"]),
];

/// Builds the package into `target/debian`.
pub(crate) fn run() -> Result<()> {
    let program = build::program(true)?;
    let folder = workspace::root().join(FOLDER);
    notices::write(&folder)?;
    for (file, args) in PRINTED {
        let output = Command::new(&program).args(args).output()?;
        ensure!(output.status.success(), "`tallybook {}` failed", args.join(" "));
        fs::write(folder.join(file), output.stdout).with_context(|| format!("cannot write {file}"))?;
    }
    shell::run(shell::cargo().args(["deb", "--package", "tallybook", "--no-build"]))
        .context("the package needs cargo-deb: run `cargo install --locked cargo-deb`")
}
