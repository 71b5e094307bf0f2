//! Paths of the workspace's folders and of build results.

use std::{env, path::PathBuf};

use anyhow::{Context as _, Result};

/// Returns the root folder of the workspace.
///
/// Cargo sets the path when it runs this program. The folder that this program was built from may be another one, if
/// several copies of the project share a target folder.
pub(crate) fn root() -> PathBuf {
    let mut root = env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    root.pop();
    root
}

/// Returns the folder of the page. The server looks for it exactly here, so it does not move with `CARGO_TARGET_DIR`.
pub(crate) fn site() -> PathBuf {
    root().join("target/site")
}

/// Returns the target folder of the browser side. It is a separate one, so that its build never waits for the server's
/// build.
pub(crate) fn ui_target() -> PathBuf {
    root().join("target/ui")
}

/// Returns the folder of the Playwright tests.
pub(crate) fn e2e() -> PathBuf {
    root().join("e2e")
}

/// Returns the path of a program that cargo built for this machine; `profile` is `debug` or `release`.
///
/// This program is in the same target folder, wherever cargo was configured to put that.
pub(crate) fn built(profile: &str, name: &str) -> Result<PathBuf> {
    let here = env::current_exe().context("cannot find the path of this program")?;
    let target = here.ancestors().nth(2).context("this program is not in a target folder")?;
    Ok(target.join(profile).join(name).with_extension(env::consts::EXE_EXTENSION))
}
