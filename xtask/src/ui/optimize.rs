//! wasm-opt, which makes the release page about a third of its size. It is used where there is one.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;

use crate::{shell, workspace};

/// The wasm-opt on `PATH`, else the one that the browser tests bring along.
pub(crate) fn find() -> Option<PathBuf> {
    let ours = workspace::e2e().join("node_modules/.bin/wasm-opt");
    shell::find_program("wasm-opt").or_else(|| ours.is_file().then_some(ours))
}

/// Optimizes a WASM file for size, in place.
///
/// Which WASM features it may use is written in the file. `--all-features` would let it use some that no browser has.
pub(crate) fn run(optimizer: &Path, wasm: &Path) -> Result<()> {
    shell::run(Command::new(optimizer).args(["-Oz", "-o"]).args([wasm, wasm]))
}
