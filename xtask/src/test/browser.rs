//! What the browser tests need: Node.js, the packages of `e2e/package-lock.json`, a Chromium, and a Firefox for the tour.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use crate::{debian, fingerprint, progress::Step, shell, workspace};

/// The oldest Node.js that the browser tests run on.
const NODE: u32 = 20;

const NODE_ADVICE: &str = "the browser tests need Node.js 20 or newer with npm: install it from https://nodejs.org";

/// Where a browser is found, and what to tell who has none.
struct Kind {
    /// The variable that names it, where it is not in its usual place.
    variable: &'static str,
    /// What it is called on `PATH`.
    names: &'static [&'static str],
    /// Where it is on a Mac.
    application: &'static str,
    /// The Debian package.
    package: &'static str,
    advice: &'static str,
}

const CHROMIUM: Kind = Kind {
    variable: "CHROMIUM",
    names: &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"],
    application: "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    package: "chromium",
    advice: "the browser tests need Chromium: install it (on Debian or Ubuntu `sudo apt-get install chromium`), or set \
        CHROMIUM to the path of a Chromium or Chrome",
};

const FIREFOX: Kind = Kind {
    variable: "FIREFOX",
    names: &["firefox-esr", "firefox"],
    application: "/Applications/Firefox.app/Contents/MacOS/firefox",
    package: "firefox-esr",
    advice: "the browser tests need Firefox: install it (on Debian `sudo apt-get install firefox-esr`), or set FIREFOX to \
        the path of one",
};

/// A browser and Playwright, ready to be run.
pub(crate) struct Browser {
    chromium: PathBuf,
}

/// Finds all of it, installing what is missing where that can be done without asking.
pub(crate) fn prepare() -> Result<Browser> {
    prepare_node()?;
    let chromium = find(&CHROMIUM)?;
    prepare_packages()?;
    Ok(Browser { chromium })
}

/// Finds Firefox, which the tests need and no other command, installing it where that can be done without asking.
pub(crate) fn prepare_firefox() -> Result<PathBuf> {
    find(&FIREFOX)
}

impl Browser {
    /// TypeScript's check of the tests themselves.
    pub(crate) fn type_check() -> Command {
        let mut command = Command::new("npm");
        command.args(["run", "--silent", "check"]).current_dir(workspace::e2e());
        command
    }

    /// Playwright, in the folder of the tests, for this server program.
    pub(crate) fn playwright(&self, program: &Path) -> Command {
        let mut command = Command::new("node");
        command
            .arg("node_modules/@playwright/test/cli.js")
            .current_dir(workspace::e2e())
            .env("CHROMIUM", &self.chromium)
            .env("TALLYBOOK_BIN", program);
        command
    }
}

fn prepare_node() -> Result<()> {
    let has_npm = || shell::find_program("npm").is_some();
    // Debian has npm in a package of its own, so that there may be one without the other. An old Node.js stays: it was
    // chosen by somebody, and the distribution's may be no newer.
    if debian::can_install() {
        match (node_version(), has_npm()) {
            (None, _) => debian::install(&["nodejs", "npm"])?,
            (Some(NODE..), false) => debian::install(&["npm"])?,
            (Some(_), _) => {}
        }
    }
    match node_version() {
        Some(NODE..) if has_npm() => Ok(()),
        Some(version @ NODE..) => bail!("{NODE_ADVICE} (Node.js {version} is here, npm is not)"),
        Some(version) => bail!("{NODE_ADVICE} (Node.js {version} is here)"),
        None => bail!(NODE_ADVICE),
    }
}

/// The first number of Node.js's version.
fn node_version() -> Option<u32> {
    let version = shell::ask(Command::new("node").arg("--version"))?;
    version.trim_start_matches('v').split('.').next()?.parse().ok()
}

/// The browser that is named, the installed one, or one installed for the occasion.
fn find(kind: &Kind) -> Result<PathBuf> {
    if let Some(named) = env::var_os(kind.variable).filter(|path| !path.is_empty()) {
        let named = PathBuf::from(named);
        if !named.is_file() {
            bail!("{} names {}, and there is no such file", kind.variable, named.display());
        }
        return Ok(named);
    }
    if let Some(found) = installed(kind) {
        return Ok(found);
    }
    if debian::can_install() {
        // Ubuntu has none of this name.
        debian::install(&[kind.package]).context(kind.advice)?;
    }
    installed(kind).context(kind.advice)
}

fn installed(kind: &Kind) -> Option<PathBuf> {
    let application = Path::new(kind.application);
    kind.names
        .iter()
        .find_map(|name| shell::find_program(name))
        .or_else(|| application.is_file().then(|| application.to_owned()))
}

/// Installs the locked packages, when the lock has changed since the last time.
fn prepare_packages() -> Result<()> {
    let folder = workspace::e2e();
    let lock = folder.join("package-lock.json");
    let note = folder.join("node_modules/.tallybook-lock");
    let fingerprint = fingerprint::of("npm ci", &[&lock])?;
    if fingerprint::matches(&note, &fingerprint) {
        return Ok(());
    }
    let step = Step::begin("installing the browser tests' packages", "npm ci");
    let mut npm = Command::new("npm");
    npm.args(["ci", "--no-audit", "--no-fund", "--loglevel=error"]).current_dir(&folder);
    // The browser is the machine's own.
    npm.env("PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD", "1").stdout(std::io::stderr());
    shell::run(&mut npm).context("cannot install the browser tests' packages")?;
    fingerprint::write(&note, &fingerprint)?;
    step.done("");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{FIREFOX, Kind, find};

    #[test]
    fn a_browser_is_found_by_its_variable_and_a_wrong_one_is_named() {
        // The variables of whoever runs the tests are theirs, and PATH is everywhere: a list of folders, so no file.
        let error = find(&Kind { variable: "PATH", ..FIREFOX }).unwrap_err().to_string();
        assert!(error.starts_with("PATH names ") && error.ends_with("there is no such file"), "{error}");
        let found = find(&Kind { variable: "CARGO", ..FIREFOX }).unwrap();
        assert_eq!(Some(found.into_os_string()), std::env::var_os("CARGO"));
    }
}
