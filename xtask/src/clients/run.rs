//! Runs clients: on Node.js with the packages of the browser tests, or on Python in a virtual environment.

use std::{path::PathBuf, process::Command, time::Duration};

use anyhow::Result;

use super::stage::Stage;
use crate::{node, python, test::browser, workspace};

/// The Codex CLI. Its package contains an executable for each platform.
const CODEX: &str = "@openai/codex@0.169.0";

/// Runs the tests of a TypeScript client, its files `*.spec.ts`.
pub(super) fn typescript(stage: &Stage, limit: Duration) -> Result<()> {
    node::find()?;
    node::install_packages(&workspace::e2e(), "installing the packages of the browser tests and clients")?;
    stage.run(&mut tests(stage), limit)
}

/// Runs a Python client, its `program.py`, with the packages in its `requirements.txt`.
pub(super) fn python(stage: &Stage, limit: Duration) -> Result<()> {
    let python = environment(stage, &[])?;
    stage.run(Command::new(python).arg(stage.folder().join("program.py")), limit)
}

/// Runs the test of the Codex CLI, `codex.test.mjs`.
pub(super) fn codex(stage: &Stage) -> Result<()> {
    let folder = workspace::root().join("target/clients").join(stage.name());
    node::install_apart(&folder, &[CODEX], "installing the Codex CLI")?;
    let mut test = Command::new("node");
    test.arg("--test").arg(stage.folder().join("codex.test.mjs")).env("CODEX", folder.join("node_modules/.bin/codex"));
    stage.run(&mut test, Duration::from_mins(6))
}

/// Runs the tests of `Open WebUI`, which start it and use it in a browser.
pub(super) fn open_webui(stage: &Stage) -> Result<()> {
    let browser = browser::prepare()?;
    // The list leaves out dependencies of Open WebUI that remote models do not need, hence `--no-deps`.
    let python = environment(stage, &["--no-deps"])?;
    let mut tests = tests(stage);
    tests.env("CHROMIUM", browser.chromium()).env("OPEN_WEBUI", python.with_file_name("open-webui"));
    tests.env("OPEN_WEBUI_LOG", stage.logs().join("open-webui.log"));
    stage.run(&mut tests, Duration::from_mins(6))
}

fn tests(stage: &Stage) -> Command {
    let mut playwright = Command::new("node");
    playwright.args(["node_modules/@playwright/test/cli.js", "test", "--config=clients.config.ts"]);
    playwright.arg(format!("clients/{}/", stage.name())).current_dir(workspace::e2e());
    playwright
}

/// Returns the Python of an environment with the packages in the client's `requirements.txt`.
fn environment(stage: &Stage, options: &[&str]) -> Result<PathBuf> {
    let requirements = stage.folder().join("requirements.txt");
    let folder = workspace::root().join("target/clients").join(stage.name());
    python::environment(&folder, &[&requirements], options, "installing the client's packages")
}
