//! What programs run on: Node.js with the packages of the browser tests, or Python in an environment of their own.

use std::{process::Command, time::Duration};

use anyhow::Result;

use super::stage::Stage;
use crate::{node, python, workspace};

/// Runs the tests of a program in TypeScript, which are its files `*.spec.ts`.
pub(super) fn typescript(stage: &Stage, limit: Duration) -> Result<()> {
    node::find()?;
    node::install_packages(&workspace::e2e(), "installing the packages of the browser tests and clients")?;
    let mut playwright = Command::new("node");
    playwright.args(["node_modules/@playwright/test/cli.js", "test", "--config=clients.config.ts"]);
    playwright.arg(format!("clients/{}/", stage.name())).current_dir(workspace::e2e());
    stage.run(&mut playwright, limit)
}

/// Runs a program in Python, which is `program.py`, with what its `requirements.txt` lists.
pub(super) fn python(stage: &Stage, limit: Duration) -> Result<()> {
    let requirements = stage.folder().join("requirements.txt");
    let environment = workspace::root().join("target/clients").join(stage.name());
    let python = python::environment(&environment, &[&requirements], &[], "installing the client's packages")?;
    stage.run(Command::new(python).arg(stage.folder().join("program.py")), limit)
}
