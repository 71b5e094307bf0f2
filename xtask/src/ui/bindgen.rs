//! Runs wasm-bindgen, as a library. It writes the JavaScript that loads a WASM module in the browser.
//!
//! The command-line tool would have to be installed in exactly the version of the crate. A dependency of that version
//! in `Cargo.toml` cannot be missing.

use std::path::Path;

use anyhow::{Context as _, Result};
use wasm_bindgen_cli_support::Bindgen;

/// Writes `name.js` and `name_bg.wasm` for a WASM file to this folder.
pub(crate) fn bind(wasm: &Path, name: &str, folder: &Path, is_split: bool, release: bool) -> Result<()> {
    Bindgen::new()
        .web(true)?
        .input_path(wasm)
        .out_name(name)
        .typescript(false)
        .remove_producers_section(true)
        // A module's lazy chunks share its memory and its function table.
        .keep_lld_exports(is_split)
        // Function names are worth their size only for stack traces in the quick build.
        .remove_name_section(release)
        .generate(folder)
        .with_context(|| format!("wasm-bindgen cannot read {}", wasm.display()))
}
