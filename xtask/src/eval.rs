//! `cargo xtask eval`: measures how many tasks a model solves, in each mode. The tasks are in `bench/eval/`, the code
//! in `bench/src/eval/`.

use std::{path::Path, process::Command};

use anyhow::Result;
use clap::Args;

use crate::{build, shell, workspace};

/// Options of `cargo xtask eval`.
#[derive(Args)]
pub(crate) struct Options {
    /// Name of a model in the settings [default: the demo model]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// Mode: native, prompted or plan; can be repeated [default: every mode of the model]
    #[arg(long = "mode", value_name = "MODE")]
    modes: Vec<String>,
    /// Task, category or language; can be repeated [default: all]
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// URL of a running server, instead of starting one; if it has accounts, set `TALLYBOOK_KEY` to an API key
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Timeout of an answer, in seconds
    #[arg(long, default_value_t = 180)]
    timeout: u64,
    /// File for all results, including the answers, as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<String>,
}

/// Asks the tasks, and prints the table.
pub(crate) fn run(options: &Options) -> Result<()> {
    let Options { model, modes, only, server, timeout, json } = options;
    let bench = build::bench(false)?;
    let mut command = if let Some(url) = server {
        let mut command = evaluation(&bench);
        command.args(["--server", url]);
        command
    } else {
        build::without_page()?;
        on_program(&workspace::built("debug", "tallybook")?, &bench)
    };
    command.args(modes.iter().flat_map(|mode| ["--mode", mode]));
    command.args(only.iter().flat_map(|name| ["--only", name]));
    command.args(["--timeout", &timeout.to_string()]);
    for (name, value) in [("--model", model), ("--json", json)] {
        if let Some(value) = value {
            command.args([name, value]);
        }
    }
    shell::run(&mut command)
}

/// Tests the evaluation: asks the demo model a few tasks, with the programs that are already built.
pub(crate) fn try_out() -> Result<()> {
    let [program, bench] = ["tallybook", "tallybook-bench"].map(|name| workspace::built("debug", name));
    let mut command = on_program(&program?, &bench?);
    shell::run(command.args(["--only", "big_numbers", "--only", "price-en"]))
}

fn on_program(program: &Path, bench: &Path) -> Command {
    let mut command = evaluation(bench);
    command.arg("--program").arg(program);
    command
}

fn evaluation(bench: &Path) -> Command {
    let mut command = Command::new(bench);
    command.current_dir(workspace::root()).arg("eval");
    command
}
