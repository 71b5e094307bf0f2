//! Finds Node.js, and installs npm packages, for JavaScript and TypeScript code.

use std::{fs, path::Path, process::Command};

use anyhow::{Context as _, Result, bail};

use crate::{debian, fingerprint, progress::Step, shell};

/// Oldest supported major version of Node.js.
const OLDEST: u32 = 20;

const ADVICE: &str = "the browser tests and programs to try need Node.js 20 or newer with npm: install it from \
    https://nodejs.org";

/// Finds Node.js and npm. Installs what is missing, if that needs no confirmation.
pub(crate) fn find() -> Result<()> {
    let has_npm = || shell::find_program("npm").is_some();
    // Debian has npm in a separate package, so either may be installed without the other. An old Node.js is not
    // replaced: a user chose it, and the distribution's may not be newer.
    if debian::can_install() {
        match (version(), has_npm()) {
            (None, _) => debian::install(&["nodejs", "npm"])?,
            (Some(OLDEST..), false) => debian::install(&["npm"])?,
            (Some(_), _) => {}
        }
    }
    match version() {
        Some(OLDEST..) if has_npm() => Ok(()),
        Some(version @ OLDEST..) => bail!("{ADVICE} (Node.js {version} is installed, npm is not)"),
        Some(version) => bail!("{ADVICE} (Node.js {version} is installed)"),
        None => bail!(ADVICE),
    }
}

/// Returns the major version of Node.js; `None` if it is not installed.
fn version() -> Option<u32> {
    let version = shell::ask(Command::new("node").arg("--version"))?;
    version.trim_start_matches('v').split('.').next()?.parse().ok()
}

/// Installs the packages in a folder's lock file, if that has changed since the last time. `name` is the name of the
/// step.
pub(crate) fn install_packages(folder: &Path, name: &'static str) -> Result<()> {
    let lock = folder.join("package-lock.json");
    let note = folder.join("node_modules/.tallybook-lock");
    let fingerprint = fingerprint::of("npm ci", &[&lock])?;
    if fingerprint::matches(&note, &fingerprint) {
        return Ok(());
    }
    let step = Step::begin(name, "npm ci");
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(folder);
    // The tests use a browser that is installed on the machine.
    npm.env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1").stdout(std::io::stderr());
    shell::run(&mut npm).with_context(|| format!("cannot install the packages of {}", lock.display()))?;
    fingerprint::write(&note, &fingerprint)?;
    step.done("");
    Ok(())
}

/// Installs packages, each named with its version, in a separate folder, unless exactly these are installed there.
/// `name` is the name of the step.
pub(crate) fn install_apart(folder: &Path, packages: &[&str], name: &'static str) -> Result<()> {
    fs::create_dir_all(folder)?;
    let note = folder.join(".tallybook-packages");
    let fingerprint = fingerprint::of(&format!("npm install {}", packages.join(" ")), &[])?;
    if fingerprint::matches(&note, &fingerprint) {
        return Ok(());
    }
    find()?;
    let step = Step::begin(name, "npm install");
    fs::write(folder.join("package.json"), "{\"private\": true}\n")?;
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--loglevel=error"]).args(packages);
    shell::run(npm.current_dir(folder).stdout(std::io::stderr()))
        .with_context(|| format!("cannot install {}", packages.join(" and ")))?;
    fingerprint::write(&note, &fingerprint)?;
    step.done("");
    Ok(())
}
