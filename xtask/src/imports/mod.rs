//! `cargo xtask imports`: which files of the server and of the page import which. A circle of files is an error, since none of them
//! can then be read, tested or moved without the others.
//!
//! What counts is where a name is defined, not the way by which it comes: with `use super::Thing`, which `mod.rs` re-exports
//! from `thing.rs`, a file imports `thing.rs`. So a parent that only lists its children, by `mod` or `pub use`, imports none
//! of them; it does when its own code names what they define. Test code is left out.
//!
//! What this does not see: calls of trait methods, methods of a name that several types have, paths within attributes.

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

use anyhow::{Result, bail};
use clap::Args;

use self::graph::Imports;
use crate::workspace;

/// Where the crates are whose files are looked at, side by side: what goes from one to the other is Cargo's to keep.
const FOLDERS: [&str; 2] = ["backend", "frontend"];

/// How the imports are drawn.
#[derive(Args)]
pub(crate) struct Options {
    /// Draw for Graphviz: `cargo xtask imports --dot | dot -Tsvg > imports.svg`
    #[arg(long)]
    dot: bool,
}

/// Draws the imports on stdout, and fails when there are circles.
pub(crate) fn run(options: &Options) -> Result<()> {
    for folder in FOLDERS {
        let imports = read(folder)?;
        draw::print(&if options.dot { draw::dot(&imports) } else { draw::text(&imports) })?;
        refuse_circles(&imports)?;
    }
    Ok(())
}

/// Fails when there are circles. Gives back how many files were read.
pub(crate) fn check() -> Result<usize> {
    FOLDERS.iter().try_fold(0, |files, folder| {
        let imports = read(folder)?;
        refuse_circles(&imports)?;
        Ok(files + imports.files.len())
    })
}

fn read(folder: &str) -> Result<Imports> {
    let folder = workspace::root().join(folder);
    Ok(Imports::of(&load::load(&folder, &crates::below(&folder)?)?))
}

fn refuse_circles(imports: &Imports) -> Result<()> {
    let circles = imports.circles();
    if circles.is_empty() {
        return Ok(());
    }
    bail!(
        "files import each other in a circle. Move what both need into a file of its own, below them.\n{}",
        draw::circles(imports, &circles)
    );
}
