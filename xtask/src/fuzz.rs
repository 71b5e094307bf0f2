//! `cargo xtask fuzz`: runs each fuzz target for a limited time. `backend/llm/src/fuzzing.rs` has the assertions of the
//! targets.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use crate::{
    progress::{Step, say},
    shell, workspace,
};

/// Time limit of an input, in seconds. A slower input is a finding.
const SLOWEST_INPUT_SECONDS: u32 = 10;
/// Memory limit of an input, in megabytes. An input that needs more is a finding, too.
const MAX_MEMORY_MB: u32 = 1024;
/// Maximum length of an input, in bytes. Longer inputs find nothing new: the size limits of fuzzing builds are below
/// this.
const MAX_INPUT_BYTES: u32 = 4096;

/// Options of `cargo xtask fuzz`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Run only this target
    target: Option<String>,
    /// Duration of each target, in seconds
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    seconds: u32,
}

/// Builds the targets and runs them one after another.
pub(crate) fn run(options: &Options) -> Result<()> {
    let targets = chosen(targets()?, options.target.as_deref())?;
    if shell::ask(shell::cargo().args(["fuzz", "--version"])).is_none() {
        bail!("fuzzing needs cargo-fuzz: run `cargo install --locked cargo-fuzz`, then try again");
    }

    let step = Step::begin("building the fuzz targets", "the first time takes a few minutes");
    shell::run(&mut cargo_fuzz("build"))?;
    step.done("");

    for target in &targets {
        say(&format!("fuzzing {target} for {} s…", options.seconds));
        let known = crashes(target)?;
        let status = shell::status(&mut fuzz(target, options.seconds)?)?;
        if !status.success() {
            let Some(input) = crashes(target)?.into_iter().find(|input| !known.contains(input)) else {
                bail!("the fuzz target {target} failed ({status})");
            };
            bail!(
                "{target} failed on {input}. Once it is mended, keep a short form of this input in fuzz/seeds/{target}. \
                 To see it again: cargo fuzz run --sanitizer none {target} {input}",
                input = input.display(),
            );
        }
    }
    say(&format!("no findings in {}", targets.iter().cloned().collect::<Vec<_>>().join(", ")));
    Ok(())
}

/// Returns the names of all targets.
fn targets() -> Result<BTreeSet<String>> {
    let files = files(&folder().join("targets"))?;
    Ok(files.iter().filter_map(|file| file.file_stem()).map(|name| name.to_string_lossy().into_owned()).collect())
}

fn chosen(targets: BTreeSet<String>, wanted: Option<&str>) -> Result<BTreeSet<String>> {
    let Some(wanted) = wanted else { return Ok(targets) };
    if !targets.contains(wanted) {
        let names: Vec<String> = targets.into_iter().collect();
        bail!("unknown fuzz target {wanted:?}; choose from {}", names.join(", "));
    }
    Ok(BTreeSet::from([wanted.to_owned()]))
}

/// Returns the command that runs a target. It starts from the seeds, and stores new inputs in `fuzz/corpus`, which is
/// local to this machine.
fn fuzz(target: &str, seconds: u32) -> Result<Command> {
    let corpus = folder().join("corpus").join(target);
    fs::create_dir_all(&corpus).with_context(|| format!("cannot make {}", corpus.display()))?;
    let mut command = cargo_fuzz("run");
    command.arg(target).arg(corpus).arg(folder().join("seeds").join(target)).arg("--").args([
        format!("-max_total_time={seconds}"),
        format!("-timeout={SLOWEST_INPUT_SECONDS}"),
        format!("-rss_limit_mb={MAX_MEMORY_MB}"),
        format!("-max_len={MAX_INPUT_BYTES}"),
        "-verbosity=0".to_owned(),
        "-print_final_stats=1".to_owned(),
    ]);
    Ok(command)
}

fn cargo_fuzz(verb: &str) -> Command {
    let mut cargo = shell::cargo();
    // The project has no `unsafe` code, so a sanitizer would find nothing. It would also need a nightly compiler.
    cargo.args(["fuzz", verb, "--sanitizer", "none", "--fuzz-dir"]).arg(folder());
    cargo
}

/// Returns the inputs that a target has failed on, in this run or an earlier one.
fn crashes(target: &str) -> Result<BTreeSet<PathBuf>> {
    let folder = folder().join("artifacts").join(target);
    if folder.is_dir() { files(&folder) } else { Ok(BTreeSet::new()) }
}

fn files(folder: &Path) -> Result<BTreeSet<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    entries.map(|entry| Ok(entry?.path())).collect()
}

fn folder() -> PathBuf {
    workspace::root().join("fuzz")
}

#[cfg(test)]
mod tests {
    use super::{chosen, files, folder, targets};

    #[test]
    fn a_target_is_chosen_by_name() {
        let all = targets().unwrap();
        assert_eq!(chosen(all.clone(), None).unwrap(), all);
        assert_eq!(chosen(all.clone(), Some("event_stream")).unwrap().len(), 1);
        let error = chosen(all, Some("no_such_target")).unwrap_err().to_string();
        assert!(error.ends_with("choose from anthropic_stream, event_stream, openai_stream, prompted_text"), "{error}");
    }

    #[test]
    fn every_target_has_seeds() {
        for target in targets().unwrap() {
            assert!(!files(&folder().join("seeds").join(&target)).unwrap().is_empty(), "{target}");
        }
    }
}
