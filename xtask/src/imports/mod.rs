//! `cargo xtask imports`: which files of the server side import which. A circle of files is an error, since none of them
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

/// How the imports are drawn.
#[derive(Args)]
pub(crate) struct Options {
    /// Draw for Graphviz: `cargo xtask imports --dot | dot -Tsvg > imports.svg`
    #[arg(long)]
    dot: bool,
}

/// Draws the imports on stdout, and fails when there are circles.
pub(crate) fn run(options: &Options) -> Result<()> {
    let imports = read()?;
    draw::print(&if options.dot { draw::dot(&imports) } else { draw::text(&imports) })?;
    refuse_circles(&imports)
}

/// Fails when there are circles. Gives back how many files were read.
pub(crate) fn check() -> Result<usize> {
    let imports = read()?;
    refuse_circles(&imports)?;
    Ok(imports.files.len())
}

fn read() -> Result<Imports> {
    let folder = workspace::root().join("backend");
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
