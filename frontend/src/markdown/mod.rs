//! Markdown as models write it, drawn straight as view nodes, by the same code on the server and in the browser. No
//! markup string is ever made or read: what is HTML in the Markdown is shown as the text that it is.
//!
//! - [`Document`] cuts a text into top-level blocks, also while it grows.
//! - `render` says what nodes a block becomes; `links` decides which links may be followed, and `math` finds formulas.
//! - `node` writes nodes as HTML for the server, `dom` draws them in the browser, and `view` fits both into Leptos.
//!
//! Text comes from models, and through them from anywhere: everything here is bounded, and nothing recurses over input.
//! How often a growing text is drawn is decided in `session`. Colours of code and the shapes of formulas come from the page's
//! second file (the crate `tallybook-typeset`), which is told of blocks that are finished.

mod blocks;
mod dom;
mod links;
mod math;
mod node;
mod render;
#[cfg(test)]
mod tests;
mod view;

pub use blocks::{Block, Document};
pub(crate) use view::Stretch;

use pulldown_cmark::Options;

/// The Markdown that is understood: CommonMark with tables, struck-out text and task lists.
const OPTIONS: Options = Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);
