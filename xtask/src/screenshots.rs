//! `cargo xtask screenshots`: the pictures in `docs/images`, taken anew from the running program.

use anyhow::Result;

use crate::{progress::Step, run, shell, test::browser, ui, workspace};

/// Builds page and server, and has a real browser take the pictures.
pub(crate) fn run() -> Result<()> {
    let browser = browser::prepare()?;
    ui::build_beside(&ui::Options { release: false }, || run::build_server(false))?;
    let step = Step::begin("taking the pictures", "");
    let program = workspace::built("debug", "tallybook")?;
    shell::run(browser.playwright(&program).args(["test", "--config=screenshots.config.ts"]))?;
    step.done("in docs/images");
    Ok(())
}
