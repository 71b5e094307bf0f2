//! `cargo xtask screenshots`: the pictures in `docs/images`, taken anew from the running program.

use anyhow::Result;

use crate::{build, progress::Step, shell, test::browser};

/// Builds page and server, and has a real browser take the pictures.
pub(crate) fn run() -> Result<()> {
    let browser = browser::prepare()?;
    let program = build::program(false)?;
    let step = Step::begin("taking the pictures", "");
    shell::run(browser.playwright(&program).args(["test", "--config=screenshots.config.ts"]))?;
    step.done("in docs/images");
    Ok(())
}
