//! `cargo xtask bench`: how fast and how light the page is, measured in a real browser. What is measured, and what is to be
//! reached, stands in `e2e/bench/`.

use std::{collections::BTreeSet, fs};

use anyhow::{Context as _, Result, bail};

use crate::{
    build,
    progress::{Step, say},
    shell,
    test::browser,
    workspace,
};

/// What the files of the benches end in; the rest is the bench's name.
const END: &str = ".spec.ts";

/// Tells the benches to be short.
const QUICK: &str = "BENCH_QUICK";

/// What `cargo xtask bench` can be told.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run only these benches
    names: Vec<String>,
    /// Take the builds that are quick to make, and less of everything: figures that do not count
    #[arg(long)]
    quick: bool,
}

/// Builds page and server, and prints what was measured as one table.
pub(crate) fn run(options: &Options) -> Result<()> {
    let names = chosen(benches()?, &options.names)?;
    let browser = browser::prepare()?;
    let program = build::program(!options.quick)?;
    let step = Step::begin("measuring", "some minutes; leave the machine alone meanwhile");
    let mut playwright = browser.playwright(&program);
    playwright.args(["test", "--config=bench.config.ts"]).args(names.iter().map(|name| format!("bench/{name}{END}")));
    playwright.env_remove(QUICK);
    if options.quick {
        playwright.env(QUICK, "1");
    }
    shell::run(&mut playwright)?;
    step.done("");
    if options.quick {
        say("these are the quick builds, so the figures do not count");
    }
    Ok(())
}

/// The names of all benches.
fn benches() -> Result<BTreeSet<String>> {
    let folder = workspace::e2e().join("bench");
    let files = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut names = BTreeSet::new();
    for file in files {
        names.extend(file?.file_name().to_string_lossy().strip_suffix(END).map(str::to_owned));
    }
    Ok(names)
}

/// The wanted ones, or all when none is named.
fn chosen(all: BTreeSet<String>, wanted: &[String]) -> Result<BTreeSet<String>> {
    if let Some(unknown) = wanted.iter().find(|name| !all.contains(*name)) {
        let names: Vec<_> = all.into_iter().collect();
        bail!("there is no bench {unknown:?}; choose from {}", names.join(", "));
    }
    Ok(if wanted.is_empty() { all } else { wanted.iter().cloned().collect() })
}

#[cfg(test)]
mod tests {
    use super::{benches, chosen};

    #[test]
    fn benches_are_chosen_by_name() {
        let all = benches().unwrap();
        assert_eq!(chosen(all.clone(), &[]).unwrap(), all);
        assert_eq!(chosen(all.clone(), &["first_load".to_owned()]).unwrap().len(), 1);
        let error = chosen(all, &["no_such_bench".to_owned()]).unwrap_err().to_string();
        assert!(error.starts_with("there is no bench \"no_such_bench\"; choose from first_load, md_stream"), "{error}");
    }
}
