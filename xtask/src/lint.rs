//! `cargo xtask lint`: checks imports, style, prose, formatting, and lints. A warning is a failure.

use anyhow::Result;
use clap::Args;

use crate::{
    imports,
    progress::{Step, say},
    prose, shell, style,
    ui::{
        DEV_PROFILE, PROGRAMS, TARGET,
        toolchain::{self, Toolchain},
    },
    workspace,
};

/// Options of `cargo xtask lint`.
#[derive(Args)]
#[group(skip)] // otherwise clap names the group `Options`, which is also the group of the command that includes these
pub(crate) struct Options {
    /// Skip clippy for the workspace, because the build runs it: `RUSTC_WORKSPACE_WRAPPER=clippy-driver`
    #[arg(long)]
    build_runs_clippy: bool,
}

/// Checks the whole workspace with the server's features, and the page also with the browser's features.
pub(crate) fn run(options: &Options) -> Result<()> {
    let step = Step::begin("checking the imports", "");
    let files = imports::check()?;
    step.done(&format!("no cycle in {files} files"));

    let step = Step::begin("checking the style", "");
    let files = style::check()?;
    step.done(&format!("shared values are set in one of {files} files"));

    let step = Step::begin("checking the prose", "");
    let files = prose::check()?;
    step.done(&format!("{files} files"));

    let step = Step::begin("checking the formatting", "");
    shell::run(shell::cargo().args(["fmt", "--all", "--check"]))?;
    step.done("");

    if !options.build_runs_clippy {
        let step = Step::begin("linting the workspace", "the first time takes a few minutes");
        shell::run(shell::cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]))?;
        step.done("");
    }

    let step = Step::begin("linting the browser side", "");
    let toolchain = toolchain::find()?;
    if toolchain == Toolchain::Debian {
        say("clippy has no standard library for the browser here, so it reads the page as a program for this machine");
    }
    for program in &PROGRAMS {
        let mut clippy = match toolchain {
            Toolchain::Active => {
                let mut cargo = toolchain.cargo();
                // With the page's profile, procedural macros and build scripts are compiled once for both.
                cargo.args(["clippy", "--profile", DEV_PROFILE, "--target", TARGET, "--target-dir"]);
                cargo.arg(workspace::ui_target());
                cargo
            }
            Toolchain::Debian => {
                let mut cargo = shell::cargo();
                cargo.arg("clippy");
                cargo
            }
        };
        clippy.args(["--package", program.package, "--lib", "--features", &program.features.join(",")]);
        shell::run(clippy.args(["--", "-D", "warnings"]))?;
    }
    step.done("");
    Ok(())
}
