//! HTML as plain data: a tree of elements and text. The server writes it as HTML. The browser creates DOM nodes from
//! it, updates them to another tree, or adopts the nodes that the server's HTML became. It never parses HTML strings.
//!
//! - `node` has the tree and writes it as HTML.
//! - `dom` creates, updates and adopts DOM nodes.
//! - `long_words` finds words that are slow to draw.
//! - `marks` bounds runs of combining marks, which could cover the lines around a text.

mod dom;
mod long_words;
mod marks;
mod node;

pub use dom::{Drawn, adopt, replace_changed, update};
pub use long_words::has_long_word;
pub use marks::{MAX_MARKS, bounded, bounded_text, is_mark, push as push_bounded};
pub use node::{Element, Node, element, write_html, write_html_with};
