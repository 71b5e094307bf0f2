//! Measures the server and its peers. The measurements and goals are in `bench/`.

use std::{path::Path, process::Command};

use anyhow::Result;

use super::Options;
use crate::{build, progress::Step, python, shell, workspace};

/// Names of the rows that the benchmark program can measure.
pub(super) const ROWS: [&str; 12] = [
    "turn_ttft",
    "turn_ttft_32",
    "turn_costs",
    "tool_turns",
    "token_transit_p99",
    "sat_tokens",
    "sse_mem",
    "persist_tax",
    "program_cost",
    "history",
    "search",
    "growth",
];

/// Tests each row once with the programs that are already built and little data.
pub(super) fn try_out() -> Result<()> {
    let [program, bench, seed] =
        ["tallybook", "tallybook-bench", "examples/seed"].map(|name| workspace::built("debug", name));
    let mut command = command(&program?, &bench?, &seed?)?;
    shell::run(command.args(["--quick", "--rounds", "1"]))
}

/// Returns the command of the benchmark program to measure this program.
fn command(program: &Path, bench: &Path, seed: &Path) -> Result<Command> {
    let requirements = workspace::root().join("bench/langgraph/requirements.txt");
    let folder = workspace::root().join("target/langgraph");
    let python = python::environment(&folder, &[&requirements], &[], "installing LangGraph")?;
    let mut command = Command::new(bench);
    command.current_dir(workspace::root()).arg("run").arg("--program").arg(program).arg("--python").arg(python);
    command.arg("--seed").arg(seed);
    Ok(command)
}

/// Measures these rows and prints the results.
pub(super) fn run(program: &Path, rows: &[String], options: &Options) -> Result<()> {
    let mut command = command(program, &build::bench(!options.quick)?, &build::seed(!options.quick)?)?;
    let step = Step::begin("measuring the server", "takes some minutes; do not use the machine meanwhile");
    command.args(rows.iter().flat_map(|row| ["--only", row]));
    if options.quick {
        command.args(["--quick", "--rounds", "1"]);
    } else {
        command.args(["--rounds", &options.rounds.to_string()]);
    }
    if options.million {
        command.arg("--million");
    }
    let files = [("--json", &options.json), ("--picture", &options.picture)];
    for (name, file) in files {
        if let Some(file) = file {
            command.arg(name).arg(file);
        }
    }
    if let Some(url) = &options.mysql {
        command.args(["--mysql", url]);
    }
    shell::run(&mut command)?;
    step.done("");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::ROWS;
    use crate::workspace;

    #[test]
    fn the_rows_match_those_of_the_bench() {
        let text = fs::read_to_string(workspace::root().join("bench/src/rows/mod.rs")).unwrap();
        let known: Vec<&str> =
            text.split("#[value(name = \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
        assert_eq!(known, ROWS);
    }
}
