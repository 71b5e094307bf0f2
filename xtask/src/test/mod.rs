//! `cargo xtask test`: runs all tests. Finds what they need first, so that a missing program shows within seconds.

pub(crate) mod browser;
mod login;
pub(crate) mod mysql;
mod python;
mod rust;

use anyhow::Result;
use clap::Args;

use self::browser::Browser;
use crate::{
    bench, build, clients, eval, load,
    progress::{Step, say},
    shell, ui, workspace,
};

/// Options of `cargo xtask test`.
#[derive(Args)]
pub(crate) struct Options {
    /// Leave out the quick runs of the benches, the load test and the evaluation
    #[arg(long)]
    without_benches: bool,
}

/// Runs the Rust tests on each database, then the browser tests against the program.
pub(crate) fn run(options: &Options) -> Result<()> {
    let browser = browser::prepare_headless()?;
    let firefox = browser::prepare_firefox()?;
    let mysql = mysql::find()?;
    let python = python::prepare()?;

    // The build of the tests includes the server program, because integration tests need it.
    let program = workspace::built("debug", "tallybook")?;
    let remark = if program.exists() { "" } else { "the first time takes about 6 minutes" };
    ui::build_beside(&ui::Options { release: false, sizes: false }, || {
        let step = Step::begin("building the server and the tests", remark);
        build::tests()?;
        step.done("");
        Ok(())
    })?;

    let rust = rust::run(&mysql, &python);

    let step = Step::begin("running the quick clients", "");
    let clients = clients::run_quick();
    step.done(if clients.is_ok() { "all passed" } else { "some failed" });

    let measures = if options.without_benches { Ok(()) } else { try_benches() };

    let step = Step::begin("running the browser tests", "");
    let mut playwright = browser.playwright(&program);
    playwright.arg("test").env(mysql::VARIABLE, mysql.urls()).env("FIREFOX", &firefox).env(python::VARIABLE, &python);
    let page = shell::run(&mut Browser::type_check()).and_then(|()| shell::run(&mut playwright));
    step.done(if page.is_ok() { "all passed" } else { "some failed" });

    if !rust.failures.is_empty() {
        // Repeats the failures, because much else was printed since.
        say(&format!("output of the failed Rust tests:\n{}", rust.failures));
    }
    rust.result.and(clients).and(measures).and(page)?;
    say("every test passed");
    Ok(())
}

/// Checks with little data that everything that measures works.
fn try_benches() -> Result<()> {
    let step = Step::begin("trying the benches, the load test and the evaluation", "with little data");
    let measures = bench::try_out().and_then(|()| load::try_out()).and_then(|()| eval::try_out());
    step.done(if measures.is_ok() { "they work" } else { "they fail" });
    measures
}
