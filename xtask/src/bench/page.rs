//! Measures the page in a real browser. The measurements and goals are in `e2e/bench/`.

use std::{collections::BTreeSet, fs, path::Path};

use anyhow::{Context as _, Result};

use crate::{progress::Step, shell, test::browser, workspace};

/// End of the benches' file names; the rest is the bench's name.
const END: &str = ".spec.ts";

/// Variable that makes the benches short.
const QUICK: &str = "BENCH_QUICK";

/// Measures the page that the program serves with these benches, and prints the results.
pub(super) fn run(program: &Path, names: &[String], quick: bool) -> Result<()> {
    let browser = browser::prepare()?;
    let step = Step::begin("measuring the page", "takes some minutes; do not use the machine meanwhile");
    let mut playwright = browser.playwright(program);
    playwright.args(["test", "--config=bench.config.ts"]).args(names.iter().map(|name| format!("bench/{name}{END}")));
    playwright.env_remove(QUICK);
    if quick {
        playwright.env(QUICK, "1");
    }
    shell::run(&mut playwright)?;
    step.done("");
    Ok(())
}

/// Returns the names of all benches.
pub(super) fn benches() -> Result<BTreeSet<String>> {
    let folder = workspace::e2e().join("bench");
    let files = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut names = BTreeSet::new();
    for file in files {
        names.extend(file?.file_name().to_string_lossy().strip_suffix(END).map(str::to_owned));
    }
    Ok(names)
}
