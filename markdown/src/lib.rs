//! Renders the Markdown that models write. The same code runs on the server, which writes HTML, and in the browser,
//! which updates DOM nodes while a text grows. HTML in the Markdown is shown as text. The browser side never creates or
//! parses HTML strings.
//!
//! - [`Document`] splits a text into top-level blocks, also while it grows.
//! - `render` converts a block to nodes. `links` decides which links are allowed, and `math` finds formulas.
//! - The crate `tallybook-nodes` writes nodes as HTML, and creates and updates them in the browser. [`Drawing`] is a
//!   text that is drawn while it grows.
//!
//! Text comes from models, and may come from anyone through them. So all sizes are bounded, and nothing recurses over
//! the input. The page decides how often a growing text is drawn. A separate WASM module (the crate
//! `tallybook-typeset`) highlights code and typesets formulas in finished blocks.

mod blocks;
mod dom;
mod drawing;
mod elements;
mod emphasis;
mod footnotes;
mod headings;
mod labels;
mod links;
mod math;
mod options;
mod render;
mod size;
#[cfg(test)]
mod tests;

pub use blocks::{Block, Document};
pub use dom::typeset;
pub use drawing::Drawing;
pub use labels::Labels;
pub(crate) use options::OPTIONS;

/// Number of blocks that share a container element. Browsers can skip rendering a container that is outside the
/// viewport.
const PART: usize = 32;

/// Writes a complete text as HTML, up to the size limit. IDs start with `name`, which must be unique on the page.
pub fn write_html(text: &str, name: &str, labels: &Labels, html: &mut String) {
    let mut size = size::Size::default();
    for part in Document::complete(text).blocks().chunks(PART) {
        // Marks the part as measured: the browser lays it out once before it can skip it.
        html.push_str("<div class=\"part\" data-measured=\"\">");
        for block in part {
            let nodes = render::render(block, name, labels);
            if !size.add(size::html_bytes(&nodes)) {
                tallybook_nodes::write_html(&size::left_out(labels), html);
                html.push_str("</div>");
                return;
            }
            tallybook_nodes::write_html(&nodes, html);
        }
        html.push_str("</div>");
    }
}
