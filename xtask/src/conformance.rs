//! `cargo xtask conformance`: MCP's own conformance suite for clients, run against `backend/mcp` through its example
//! `conformance_client`, and what came of it in `docs/mcp-conformance.md`.

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::{
    fingerprint,
    progress::{Step, say},
    shell, workspace,
};

/// The suite. Only the versions that come before 0.2 know the protocol of 2026-07-28.
const SUITE: &str = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
/// The Node.js that it needs, which npm brings along.
const NODE: &str = "node@22.23.3";

/// What is run: scenario and revision of the protocol.
const SCENARIOS: [(&str, &str); 12] = [
    ("initialize", "2025-11-25"),
    ("tools_call", "2025-11-25"),
    ("sse-retry", "2025-11-25"),
    ("elicitation-sep1034-client-defaults", "2025-11-25"),
    ("tools_call", "2026-07-28"),
    ("request-metadata", "2026-07-28"),
    ("http-standard-headers", "2026-07-28"),
    ("http-custom-headers", "2026-07-28"),
    ("http-invalid-tool-headers", "2026-07-28"),
    ("json-schema-ref-no-deref", "2026-07-28"),
    ("json-schema-2020-12-preservation", "2026-07-28"),
    ("sep-2322-client-request-state", "2026-07-28"),
];

/// Why a scenario may fail.
const EXPLAINED: [(&str, &str); 3] = [
    ("elicitation-sep1034-client-defaults", NOBODY_IS_ASKED),
    ("sep-2322-client-request-state", NOBODY_IS_ASKED),
    (
        "json-schema-2020-12-preservation",
        "Schemas are made such that every model provider takes them: references are put in place, and alternatives at the top \
         are left out. The server checks arguments by its own schema in any case.",
    ),
];

const NOBODY_IS_ASKED: &str = "A server cannot ask a person for input through Tallybook, and is told so: the capability is not \
    declared, and a call that wants it ends as `input_required`.";

/// Runs the scenarios one after another and writes down what came of them. A failure that nothing explains is an error, and
/// so is an explanation of what does not fail.
pub(crate) fn run() -> Result<()> {
    let folder = prepare()?;
    let step = Step::begin("building the client", "");
    shell::run(shell::cargo().args(["build", "--package", "tallybook-mcp", "--example", "conformance_client"]))?;
    step.done("");
    let client = workspace::built("debug/examples", "conformance_client")?;
    let mut table = String::new();
    let mut surprises = Vec::new();
    for (scenario, revision) in SCENARIOS {
        say(&format!("{scenario} of {revision}…"));
        let outcome = run_scenario(&folder, &client, scenario, revision)?;
        let explanation = EXPLAINED.iter().find(|(known, _)| *known == scenario).map(|(_, words)| *words);
        if outcome.failed.is_empty() == explanation.is_some() {
            surprises.push(format!("{scenario} of {revision}: {}", outcome.words()));
        }
        // Writing into a string does not fail.
        let _ = writeln!(
            table,
            "| `{scenario}` | {revision} | {} | {} |",
            outcome.words(),
            explanation.unwrap_or_default()
        );
    }
    let path = workspace::root().join("docs/mcp-conformance.md");
    let text = fs::read_to_string(&path).context("docs/mcp-conformance.md is gone")?;
    let (before, _) = text.split_once(TABLE).context("docs/mcp-conformance.md has no place for the results")?;
    fs::write(&path, format!("{before}{TABLE}{table}"))?;
    if !surprises.is_empty() {
        bail!("not as docs/mcp-conformance.md explains:\n{}", surprises.join("\n"));
    }
    say("all is as docs/mcp-conformance.md says");
    Ok(())
}

/// The head of the table of results, which is the end of the document.
const TABLE: &str = "| scenario | revision | checks | explanation |\n|---|---|---|---|\n";

/// What came of a scenario.
struct Outcome {
    passed: usize,
    /// What failed, by the suite's names.
    failed: Vec<String>,
}

impl Outcome {
    fn words(&self) -> String {
        let passed = format!("{} passed", self.passed);
        if self.failed.is_empty() { passed } else { format!("{passed}; failed: {}", self.failed.join(", ")) }
    }
}

fn run_scenario(folder: &Path, client: &Path, scenario: &str, revision: &str) -> Result<Outcome> {
    let results = tempfile::tempdir()?;
    let mut suite = Command::new(folder.join("node_modules/node/bin/node"));
    suite.current_dir(folder).arg("node_modules/@modelcontextprotocol/conformance/dist/index.js");
    suite.args(["client", "--scenario", scenario, "--spec-version", revision, "--command"]).arg(client);
    suite.arg("--output-dir").arg(results.path()).stdout(std::io::stderr());
    // It fails where a check does; what counts is what it wrote.
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

/// The file `checks.json` in a folder of the suite's naming.
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

/// Installs the suite and its Node.js in a folder of their own, unless these very versions are there.
fn prepare() -> Result<PathBuf> {
    let folder = workspace::root().join("target/conformance");
    fs::create_dir_all(&folder)?;
    let note = folder.join(".tallybook-packages");
    let packages = fingerprint::of(&format!("npm install {SUITE} {NODE}"), &[])?;
    if fingerprint::matches(&note, &packages) {
        return Ok(folder);
    }
    let step = Step::begin("installing MCP's conformance suite", "npm install, into target/conformance");
    fs::write(folder.join("package.json"), "{\"private\": true}\n")?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error", SUITE, NODE]);
    shell::run(npm.current_dir(&folder).stdout(std::io::stderr())).context("cannot install the conformance suite")?;
    fingerprint::write(&note, &packages)?;
    step.done("");
    Ok(folder)
}
