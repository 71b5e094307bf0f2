//! Finds what the browser tests need: Node.js, the packages of `e2e/package-lock.json`, a Chromium, and a Firefox for
//! the tour.

use std::{
    env,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};

use crate::{debian, node, shell, workspace};

/// A kind of browser: where it is found, and the advice for users who lack it.
struct Kind {
    /// Variable with its path, if it is not in a usual place.
    variable: &'static str,
    /// Its names on `PATH`.
    names: &'static [&'static str],
    /// Its path on macOS.
    application: &'static str,
    /// Its Debian package.
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

/// Chromium without windows. It is the same engine in about half the time, because it draws no tab strip for each page
/// of a test.
const HEADLESS_SHELL: Kind = Kind {
    names: &["chromium-headless-shell", "chrome-headless-shell"],
    package: "chromium-headless-shell",
    ..CHROMIUM
};

/// A browser and Playwright, ready to run.
pub(crate) struct Browser {
    chromium: PathBuf,
}

/// Finds everything. Installs what is missing, if that needs no confirmation.
pub(crate) fn prepare() -> Result<Browser> {
    prepare_with(find(&CHROMIUM)?)
}

/// Like [`prepare`], for many tests. Uses the headless shell if it is installed, or if no Chromium is and it can be
/// installed.
pub(crate) fn prepare_headless() -> Result<Browser> {
    let is_there = |kind: &Kind| installed(kind).is_some();
    let kind = if is_there(&HEADLESS_SHELL) || !is_there(&CHROMIUM) { &HEADLESS_SHELL } else { &CHROMIUM };
    prepare_with(find(kind).or_else(|_| find(&CHROMIUM))?)
}

fn prepare_with(chromium: PathBuf) -> Result<Browser> {
    node::find()?;
    node::install_packages(&workspace::e2e(), "installing the browser tests' packages")?;
    Ok(Browser { chromium })
}

/// Finds Firefox. Installs it if that needs no confirmation. Only the tests need it.
pub(crate) fn prepare_firefox() -> Result<PathBuf> {
    find(&FIREFOX)
}

impl Browser {
    /// Returns the path of Chromium.
    pub(crate) fn chromium(&self) -> &Path {
        &self.chromium
    }

    /// Returns the command for TypeScript's check of the tests.
    pub(crate) fn type_check() -> Command {
        let mut command = Command::new("npm");
        command.args(["run", "--silent", "check"]).current_dir(workspace::e2e());
        command
    }

    /// Returns the command for Playwright, in the folder of the tests and for this server program.
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

/// Returns the browser that the variable names, an installed one, or one that this installs.
fn find(kind: &Kind) -> Result<PathBuf> {
    if let Some(named) = env::var_os(kind.variable).filter(|path| !path.is_empty()) {
        let named = PathBuf::from(named);
        if !named.is_file() {
            bail!("{} names {}, which does not exist", kind.variable, named.display());
        }
        return Ok(named);
    }
    if let Some(found) = installed(kind) {
        return Ok(found);
    }
    if debian::can_install() {
        // Ubuntu lacks a package of this name.
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

#[cfg(test)]
mod tests {
    use super::{FIREFOX, Kind, find};

    #[test]
    fn a_browser_is_found_by_its_variable_and_a_missing_one_is_named() {
        // The tests must not use the user's own variables. `PATH` is set everywhere: it is a list of folders, so not a
        // file.
        let error = find(&Kind { variable: "PATH", ..FIREFOX }).unwrap_err().to_string();
        assert!(error.starts_with("PATH names ") && error.ends_with("which does not exist"), "{error}");
        let found = find(&Kind { variable: "CARGO", ..FIREFOX }).unwrap();
        assert_eq!(Some(found.into_os_string()), std::env::var_os("CARGO"));
    }
}
