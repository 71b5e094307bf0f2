//! `cargo xtask conformance`: runs MCP's conformance suite, for clients against `backend/mcp` and for servers against a
//! Tallybook server (`/mcp`). Writes the results to `docs/reference/mcp-conformance.md`. `client` and `server` have the
//! scenarios and the reasons for failures; `suite` runs the suite.

mod client;
mod document;
mod server;
mod side;
mod suite;

use std::{fmt::Write as _, process::Command};

use anyhow::{Result, bail};

use self::{side::Side, suite::Suite};
use crate::{
    build,
    clients::stage::{Accounts, Stage},
    progress::say,
};

/// Runs both sides.
pub(crate) fn run() -> Result<()> {
    let suite = Suite::prepare()?;
    let client = client::build()?;
    try_side(&suite, &client::SIDE, |run| {
        run.arg("--command").arg(&client);
    })?;
    build::without_page()?;
    server(&Stage::set("mcp-conformance", Accounts::Off)?)
}

/// Runs only the server side.
pub(crate) fn server(stage: &Stage) -> Result<()> {
    let suite = Suite::prepare()?;
    let address = format!("{}/mcp", stage.url());
    try_side(&suite, &server::SIDE, |run| {
        run.args(["--url", &address]);
    })
}

/// Runs the scenarios one after another and writes the results to the document. These are errors: a failure without an
/// explanation, an explanation without a failure, and a scenario that is neither run nor explained.
fn try_side(suite: &Suite, side: &Side, on: impl Fn(&mut Command)) -> Result<()> {
    let mut table = String::new();
    let mut surprises = Vec::new();
    for (scenario, revision) in side.scenarios {
        say(&format!("{scenario} of {revision}…"));
        let outcome = suite.run(side, scenario, revision, &on)?;
        let explanation = side.explained.iter().find(|(known, _)| known == scenario).map(|(_, words)| *words);
        if outcome.is_well() == explanation.is_some() {
            surprises.push(format!("{scenario} of {revision}: {}", outcome.words()));
        }
        // Writing to a string does not fail.
        let _ = writeln!(
            table,
            "| `{scenario}` | {revision} | {} | {} |",
            outcome.words(),
            explanation.unwrap_or_default()
        );
    }
    for (beginning, words) in side.not_run {
        let rest = if beginning.ends_with(['-', '/']) { "…" } else { "" };
        let _ = writeln!(table, "| `{beginning}{rest}` | | not run | {words} |");
    }
    let is_known = |name: &str| {
        side.scenarios.iter().any(|(known, _)| *known == name)
            || side.not_run.iter().any(|(begin, _)| name.starts_with(begin))
    };
    let unknown = suite.scenarios(side)?.into_iter().filter(|name| !is_known(name));
    surprises.extend(unknown.map(|name| format!("{name}: neither run nor explained")));
    document::write(side.heading, &table)?;
    if !surprises.is_empty() {
        bail!("the results do not match {}:\n{}", document::PATH, surprises.join("\n"));
    }
    say(&format!("the results match {}", document::PATH));
    Ok(())
}
