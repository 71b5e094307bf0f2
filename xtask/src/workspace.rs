//! Where things are: the workspace's folders, and what the builds leave behind.

use std::{env, path::PathBuf};

use anyhow::{Context as _, Result};

/// The workspace's top folder.
///
/// Cargo says so when it runs this program. The folder that this program was built from may be another one, when several
/// copies of the project share a target folder.
pub(crate) fn root() -> PathBuf {
    let mut root = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    root.pop();
    root
}

/// The page as the server serves it. The server looks for it exactly here, so it does not move with `CARGO_TARGET_DIR`.
pub(crate) fn site() -> PathBuf {
    root().join("target/site")
}

/// The browser side's own target folder, so that its build never waits for the server's build.
pub(crate) fn ui_target() -> PathBuf {
    root().join("target/ui")
}

/// The Playwright tests.
pub(crate) fn e2e() -> PathBuf {
    root().join("e2e")
}

/// A program that cargo built for this machine, `profile` being `debug` or `release`.
///
/// This very program lies in the same target folder, wherever cargo was told to put that.
pub(crate) fn built(profile: &str, name: &str) -> Result<PathBuf> {
    let here = env::current_exe().context("cannot tell where this program lies")?;
    let target = here.ancestors().nth(2).context("this program lies outside a target folder")?;
    Ok(target.join(profile).join(name).with_extension(env::consts::EXE_EXTENSION))
}
