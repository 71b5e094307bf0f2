//! Python with packages in a virtual environment.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result};

use crate::{debian, fingerprint, progress::Step, shell};

const ADVICE: &str = "the tests, and programs to try, need Python 3.10 or newer with venv and pip: install it (on Debian or Ubuntu `sudo apt-get \
    install python3-venv`)";

/// Creates the environment in `folder`, unless it exists with exactly these packages, and returns the path of its
/// Python. `options` are for `pip install`; `name` is the name of the step.
pub(crate) fn environment(
    folder: &Path,
    requirements: &[&Path],
    options: &[&str],
    name: &'static str,
) -> Result<PathBuf> {
    let program = folder.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
    let note = folder.join(".tallybook-requirements");
    let fingerprint = fingerprint::of(&format!("pip install {}", options.join(" ")), requirements)?;
    if fingerprint::matches(&note, &fingerprint) {
        return Ok(program);
    }
    let step = Step::begin(name, "pip install");
    let mut make = Command::new("python3");
    make.args(["-m", "venv", "--clear"]).arg(folder).stdout(std::io::stderr());
    if shell::run(&mut make).is_err() {
        if debian::can_install() {
            debian::install(&["python3-venv"])?;
        }
        shell::run(&mut make).context(ADVICE)?;
    }
    let mut install = Command::new(&program);
    install.args(["-m", "pip", "--disable-pip-version-check", "install", "--quiet"]).args(options);
    for file in requirements {
        install.arg("--requirement").arg(file);
    }
    shell::run(install.stdout(std::io::stderr())).with_context(|| format!("cannot create {}", folder.display()))?;
    fingerprint::write(&note, &fingerprint)?;
    step.done("");
    Ok(program)
}
