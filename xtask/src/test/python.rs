//! A Python with the official SDKs of MCP and of OpenAI, for the tests with a real tool server and a real program: in an
//! environment of its own in `target`.

use std::{path::PathBuf, process::Command};

use anyhow::{Context as _, Result};

use crate::{debian, fingerprint, progress::Step, shell, workspace};

/// The variable that names the Python to the tests.
pub(crate) const VARIABLE: &str = "TEST_PYTHON";

/// What the tests need.
const REQUIREMENTS: [&str; 2] = ["mock-mcp/requirements.txt", "backend/server/tests/it/programs/requirements.txt"];

const ADVICE: &str = "the tests need Python 3.10 or newer with venv and pip: install it (on Debian or Ubuntu `sudo apt-get \
    install python3-venv`)";

/// Makes the environment, unless it is there with just these packages.
pub(crate) fn prepare() -> Result<PathBuf> {
    let folder = workspace::root().join("target/python");
    let requirements = REQUIREMENTS.map(|file| workspace::root().join(file));
    let program = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let note = folder.join(".tallybook-requirements");
    let fingerprint = fingerprint::of("pip install", &requirements.each_ref().map(PathBuf::as_path))?;
    if fingerprint::matches(&note, &fingerprint) {
        return Ok(program);
    }
    let step = Step::begin("installing the Python SDKs of MCP and OpenAI", "pip install, into target/python");
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear"]).arg(&folder).stdout(std::io::stderr());
    if shell::run(&mut make).is_err() {
        if debian::can_install() {
            debian::install(&["python3-venv"])?;
        }
        shell::run(&mut make).context(ADVICE)?;
    }
    let mut install = Command::new(&program);
    install.args(["-m", "pip", "--disable-pip-version-check", "install", "--quiet"]);
    for file in &requirements {
        install.arg("--requirement").arg(file);
    }
    shell::run(install.stdout(std::io::stderr())).context("cannot install the Python SDKs")?;
    fingerprint::write(&note, &fingerprint)?;
    step.done("");
    Ok(program)
}
