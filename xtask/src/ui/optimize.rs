//! Runs wasm-opt, if it is installed. It shrinks the release page to about a third of its size.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;

use crate::{shell, workspace};

/// Finds the wasm-opt of the version in `e2e/package-lock.json`, so that the page has the same size everywhere;
/// otherwise the one on `PATH`.
pub(crate) fn find() -> Option<PathBuf> {
    find_in(&workspace::e2e())
}

/// Finds the wasm-opt that npm installed in a folder, or the one on `PATH`.
fn find_in(folder: &Path) -> Option<PathBuf> {
    let locked = folder.join("node_modules/.bin/wasm-opt");
    if locked.is_file() { Some(locked) } else { shell::find_program("wasm-opt") }
}

/// Optimizes a WASM file for size, in place.
///
/// The file itself lists the WASM features that it may use. `--all-features` would also allow features that no browser
/// has.
pub(crate) fn run(optimizer: &Path, wasm: &Path) -> Result<()> {
    shell::run(Command::new(optimizer).args(["-Oz", "-o"]).args([wasm, wasm]))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{find_in, shell};

    #[test]
    fn the_locked_version_takes_precedence_over_the_one_on_the_path() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(find_in(folder.path()), shell::find_program("wasm-opt"));
        let locked = folder.path().join("node_modules/.bin/wasm-opt");
        fs::create_dir_all(locked.parent().unwrap()).unwrap();
        fs::write(&locked, "").unwrap();
        assert_eq!(find_in(folder.path()), Some(locked));
    }
}
