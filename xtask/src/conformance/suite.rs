//! Runs the suite: npm `@modelcontextprotocol/conformance`, installed in `target`.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::side::Side;
use crate::{node, shell, workspace};

/// The suite. Only the pre-releases of 0.2 support the protocol revision 2026-07-28.
const SUITE: &str = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
/// The Node.js that the suite needs, installed by npm.
const NODE: &str = "node@22.23.3";

/// The installed suite.
pub(super) struct Suite {
    folder: PathBuf,
}

/// The result of a scenario.
pub(super) struct Outcome {
    passed: usize,
    /// IDs of the failed checks.
    failed: Vec<String>,
}

impl Outcome {
    pub(super) fn is_well(&self) -> bool {
        self.failed.is_empty()
    }

    pub(super) fn words(&self) -> String {
        let passed = format!("{} passed", self.passed);
        if self.is_well() { passed } else { format!("{passed}; failed: {}", self.failed.join(", ")) }
    }
}

impl Suite {
    /// Installs the suite and its Node.js, unless exactly these versions are installed.
    pub(super) fn prepare() -> Result<Self> {
        let folder = workspace::root().join("target/conformance");
        node::install_apart(&folder, &[SUITE, NODE], "installing MCP's conformance suite")?;
        Ok(Self { folder })
    }

    fn command(&self) -> Command {
        let mut command = Command::new(self.folder.join("node_modules/node/bin/node"));
        command.current_dir(&self.folder).arg("node_modules/@modelcontextprotocol/conformance/dist/index.js");
        command
    }

    /// Returns the names of all scenarios for this side.
    pub(super) fn scenarios(&self, side: &Side) -> Result<Vec<String>> {
        let list = shell::ask(self.command().args(["list", &format!("--{}", side.name)]));
        let list = list.context("the conformance suite does not list its scenarios")?;
        let names =
            list.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split(' ').next().map(str::to_owned));
        Ok(names.collect())
    }

    /// Runs a scenario on the target that `on` adds to the command.
    pub(super) fn run(
        &self,
        side: &Side,
        scenario: &str,
        revision: &str,
        on: impl Fn(&mut Command),
    ) -> Result<Outcome> {
        let results = tempfile::tempdir()?;
        let mut suite = self.command();
        suite.args([side.name, "--scenario", scenario, "--spec-version", revision]);
        suite.arg("--output-dir").arg(results.path()).stdout(std::io::stderr());
        on(&mut suite);
        // The suite exits with an error if a check fails. The file that it writes has the result.
        shell::status(&mut suite)?;
        let file = find_checks(results.path())?.with_context(|| format!("the suite wrote nothing about {scenario}"))?;
        let checks: Vec<Value> = serde_json::from_str(&fs::read_to_string(file)?)?;
        let with = |status: &'static str| checks.iter().filter(move |check| check["status"] == status);
        let mut failed: Vec<String> =
            with("FAILURE").map(|check| check["id"].as_str().unwrap_or_default().to_owned()).collect();
        failed.sort();
        failed.dedup();
        Ok(Outcome { passed: with("SUCCESS").count(), failed })
    }
}

/// Finds the file `checks.json` in a folder whose name the suite chooses.
fn find_checks(folder: &Path) -> Result<Option<PathBuf>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.file_name().is_some_and(|name| name == "checks.json") {
            return Ok(Some(path));
        }
        if path.is_dir()
            && let Some(found) = find_checks(&path)?
        {
            return Ok(Some(found));
        }
    }
    Ok(None)
}
