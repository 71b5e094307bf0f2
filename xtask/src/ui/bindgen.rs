//! wasm-bindgen, as a library: the JavaScript that loads a program of the browser's.
//!
//! The command-line tool would have to be installed at exactly the version that the crate uses; a dependency of that
//! version in `Cargo.toml` cannot be missing.

use std::path::Path;

use anyhow::{Context as _, Result};
use wasm_bindgen_cli_support::Bindgen;

/// Makes `name.js` and `name_bg.wasm` of a WASM file, in this folder.
pub(crate) fn bind(wasm: &Path, name: &str, folder: &Path, is_split: bool, release: bool) -> Result<()> {
    Bindgen::new()
        .web(true)?
        .input_path(wasm)
        .out_name(name)
        .typescript(false)
        .remove_producers_section(true)
        // A program's other parts share its memory and its table of functions.
        .keep_lld_exports(is_split)
        // Function names are worth their weight only to whoever reads a stack trace of the quick build.
        .remove_name_section(release)
        .generate(folder)
        .with_context(|| format!("wasm-bindgen cannot read {}", wasm.display()))
}
