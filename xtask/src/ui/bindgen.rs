//! wasm-bindgen, as a library: the JavaScript that loads a program of the browser's.
//!
//! The command-line tool would have to be installed at exactly the version that the crate uses; a dependency of that
//! version in `Cargo.toml` cannot be missing.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};
use wasm_bindgen_cli_support::Bindgen;

use crate::workspace;

/// Makes `name.js` and `name_bg.wasm` of cargo's WASM file, in a folder of their own.
pub(crate) fn bind(wasm: &Path, name: &str, release: bool) -> Result<PathBuf> {
    let folder = workspace::ui_target().join("bindgen");
    match fs::remove_dir_all(&folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot empty {}", folder.display()));
        }
        _ => {}
    }
    Bindgen::new()
        .web(true)?
        .input_path(wasm)
        .out_name(name)
        .typescript(false)
        .remove_producers_section(true)
        // Function names are worth their weight only to whoever reads a stack trace of the quick build.
        .remove_name_section(release)
        .generate(&folder)
        .with_context(|| format!("wasm-bindgen cannot read {}", wasm.display()))?;
    Ok(folder)
}
