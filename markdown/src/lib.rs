//! Markdown as models write it, by the same code on the server, which writes HTML, and in the browser, which draws nodes
//! while a text grows. What is HTML in the Markdown is shown as the text that it is, and in the browser no markup string is
//! ever made or read.
//!
//! - [`Document`] cuts a text into top-level blocks, also while it grows.
//! - `render` says what nodes a block becomes; `links` decides which links may be followed, and `math` finds formulas.
//! - `node` writes nodes as HTML, `dom` draws them in the browser, and [`Drawing`] is a text that is drawn while it grows.
//!
//! Text comes from models, and through them from anywhere: everything here is bounded, and nothing recurses over input.
//! How often a growing text is drawn is decided by the page. Colours of code and the shapes of formulas come from a program
//! of their own (the crate `tallybook-typeset`), which is told of blocks that are finished.

mod blocks;
mod dom;
mod drawing;
mod elements;
mod emphasis;
mod footnotes;
mod headings;
mod labels;
mod links;
mod marks;
mod math;
mod node;
mod options;
mod render;
mod size;
#[cfg(test)]
mod tests;

pub use blocks::{Block, Document};
pub use dom::typeset;
pub use drawing::Drawing;
pub use labels::Labels;
pub use marks::{MAX_MARKS, bounded as bounded_marks, bounded_text, is_mark};
pub(crate) use options::OPTIONS;

/// So many blocks stand together in an element of their own, which a browser can leave alone while it is out of sight.
const PART: usize = 32;

/// Writes a complete text as HTML, as much of it as a page takes. The ids in it begin with `name`, of which a page has no two.
pub fn write_html(text: &str, name: &str, labels: &Labels, html: &mut String) {
    let mut size = size::Size::default();
    for part in Document::complete(text).blocks().chunks(PART) {
        // It is laid out before anything can go out of the layout.
        html.push_str("<div class=\"part\" data-measured=\"\">");
        for block in part {
            let nodes = render::render(block, name, labels);
            if !size.add(size::html_bytes(&nodes)) {
                node::write_html(&size::left_out(labels), html);
                html.push_str("</div>");
                return;
            }
            node::write_html(&nodes, html);
        }
        html.push_str("</div>");
    }
}
