//! `cargo xtask imports`: shows which files of a crate import which, for every crate of the workspace. A cycle of files
//! is an error, because none of them can then be read, tested, or moved without the others.
//!
//! An import counts for the file that defines the name, not for the modules on the way. With `use super::Thing`, which
//! `mod.rs` re-exports from `thing.rs`, a file imports `thing.rs`. So a parent that only lists its children, with `mod`
//! or `pub use`, imports none of them. It does import them if its own code names their items. Test code is left out.
//!
//! This does not detect calls of trait methods, methods with a name that several types have, and paths within
//! attributes.

mod cfg;
mod crates;
mod draw;
mod graph;
mod load;
mod methods;
mod read;
mod resolve;
#[cfg(test)]
mod tests;
mod tokens;
mod tree;
mod use_tree;

use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;
use serde_json::Value;

use self::graph::Imports;
use crate::workspace;

/// Options of `cargo xtask imports`.
#[derive(Args)]
pub(crate) struct Options {
    /// Write a graph for Graphviz: `cargo xtask imports --dot | dot -Tsvg > imports.svg`
    #[arg(long)]
    dot: bool,
}

/// Prints the imports to stdout. Returns an error if there are cycles.
pub(crate) fn run(options: &Options) -> Result<()> {
    let folders = read(&workspace::root(), &crates::metadata()?)?;
    for imports in &folders {
        draw::print(&if options.dot { draw::dot(imports) } else { draw::text(imports) })?;
    }
    refuse_cycles(&folders)
}

/// Returns the number of files, or an error if there are cycles.
pub(crate) fn check() -> Result<usize> {
    let folders = read(&workspace::root(), &crates::metadata()?)?;
    refuse_cycles(&folders)?;
    Ok(folders.iter().map(|imports| imports.files.len()).sum())
}

/// Returns the imports in each of the workspace's top-level folders.
fn read(workspace: &Path, metadata: &Value) -> Result<Vec<Imports>> {
    let folders = crates::by_folder(workspace, metadata)?;
    folders.values().map(|roots| Ok(Imports::of(&load::load(workspace, roots)?))).collect()
}

fn refuse_cycles(folders: &[Imports]) -> Result<()> {
    let cycles: String = folders.iter().map(|imports| draw::cycles(imports, &imports.cycles())).collect();
    if cycles.is_empty() {
        return Ok(());
    }
    bail!("these files import each other in a cycle. Move the shared items to a file of their own.\n{cycles}");
}
