//! A Python with the official SDK of MCP, for the tests with a real tool server: in an environment of its own in `target`.

use std::{path::PathBuf, process::Command};

use anyhow::{Context as _, Result};

use crate::{debian, fingerprint, progress::Step, shell, workspace};

/// The variable that names the Python to the tests.
pub(crate) const VARIABLE: &str = "MCP_TEST_PYTHON";

const ADVICE: &str = "the tests need Python 3.10 or newer with venv and pip: install it (on Debian or Ubuntu `sudo apt-get \
    install python3-venv`)";

/// Makes the environment, unless it is there with just these packages.
pub(crate) fn prepare() -> Result<PathBuf> {
    let folder = workspace::root().join("target/python");
    let requirements = workspace::root().join("mock-mcp/requirements.txt");
    let program = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let note = folder.join(".tallybook-requirements");
    let fingerprint = fingerprint::of("pip install", &[&requirements])?;
    if fingerprint::matches(&note, &fingerprint) {
        return Ok(program);
    }
    let step = Step::begin("installing the Python SDK of MCP", "pip install, into target/python");
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear"]).arg(&folder).stdout(std::io::stderr());
    if shell::run(&mut make).is_err() {
        if debian::can_install() {
            debian::install(&["python3-venv"])?;
        }
        shell::run(&mut make).context(ADVICE)?;
    }
    let mut install = Command::new(&program);
    install
        .args(["-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--requirement"])
        .arg(&requirements);
    shell::run(install.stdout(std::io::stderr())).context("cannot install the Python SDK of MCP")?;
    fingerprint::write(&note, &fingerprint)?;
    step.done("");
    Ok(program)
}
