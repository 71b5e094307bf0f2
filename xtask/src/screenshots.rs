//! `cargo xtask screenshots`: takes the pictures in `docs/images` from the running program.

use anyhow::Result;

use crate::{build, progress::Step, shell, test::browser};

/// Builds the page and the server, and takes the pictures in a real browser.
pub(crate) fn run() -> Result<()> {
    let browser = browser::prepare()?;
    let program = build::program(false)?;
    let step = Step::begin("taking the pictures", "");
    shell::run(browser.playwright(&program).args(["test", "--config=screenshots.config.ts"]))?;
    step.done("in docs/images");
    Ok(())
}
