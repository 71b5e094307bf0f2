//! Draws a growing Markdown text in an element of the page, and changes the element only where the text grows. Finished
//! blocks change only if link definitions follow their use: a complete text is split again as a whole.

use tallybook_nodes::replace_changed;
use wasm_bindgen::prelude::*;
use web_sys::Element;

use crate::{
    Block, Document, Labels, PART, dom,
    render::render,
    size::{Size, html_bytes, left_out},
};

/// A text that is drawn in an element of the page.
pub struct Drawing {
    place: Element,
    labels: Labels,
    drawn: Drawn,
}

/// A block that is drawn in the element.
#[derive(Default)]
struct Shown {
    block: Block,
    nodes: Vec<tallybook_nodes::Drawn>,
    /// Approximate size of the block as HTML, in bytes.
    bytes: usize,
}

/// The content of the element.
#[derive(Default)]
struct Drawn {
    document: Document,
    /// Each block with its nodes and their size.
    blocks: Vec<Shown>,
    /// `true` if the last block is the notice that the rest is left out.
    is_cut: bool,
    /// The container elements, with [`PART`] blocks in each.
    parts: Vec<Element>,
    /// Number of blocks, from the start, that are probably finished and were passed to the typesetter.
    finished: usize,
}

impl Drawing {
    /// Starts to draw in `place`, and replaces its content. IDs start with the ID of `place`.
    pub fn begin(place: Element, labels: Labels) -> Self {
        place.set_text_content(None);
        Self { place, labels, drawn: Drawn::default() }
    }

    /// Draws the current text. `complete` means that the text will not grow any more.
    pub fn draw(&mut self, text: &str, complete: bool) {
        if self.drawn.draw_on(text, complete, &self.labels, &self.place).is_err() {
            // Other code, such as a translation extension, has moved the nodes.
            self.place.set_text_content(None);
            self.drawn = Drawn::default();
            // Drawing into an empty element cannot fail this way.
            let _ = self.drawn.draw_on(text, complete, &self.labels, &self.place);
        }
    }
}

impl Drawn {
    fn draw_on(&mut self, text: &str, complete: bool, labels: &Labels, place: &Element) -> Result<(), JsValue> {
        let kept = self.document.update(text, complete);
        if self.is_cut && kept >= self.blocks.len() {
            return Ok(());
        }
        self.is_cut = false;
        let blocks = self.document.blocks();
        let mut size = Size::default();
        size.add(self.blocks.iter().take(kept).map(|shown| shown.bytes).sum());
        let mut count = blocks.len();
        for (index, block) in blocks.iter().enumerate().skip(kept) {
            if let Some(shown) = self.blocks.get(index).filter(|shown| shown.block == *block) {
                // An unchanged block still fits unless blocks before it have grown.
                if size.add(shown.bytes) {
                    continue;
                }
            }
            let mut nodes = render(block, &place.id(), labels);
            let bytes = html_bytes(&nodes);
            self.is_cut = !size.add(bytes);
            if self.is_cut {
                nodes = left_out(labels);
            }
            let at = index / PART;
            if at == self.parts.len() {
                self.parts.push(dom::append_part(place)?);
            }
            let mut after = self.blocks.iter().take((at + 1) * PART).skip(index + 1);
            let next = after.find_map(|shown| shown.nodes.first()).map(|next| next.place().clone());
            if index == self.blocks.len() {
                self.blocks.push(Shown::default());
            }
            let shown = &mut self.blocks[index];
            replace_changed(nodes, &mut shown.nodes, &self.parts[at], next.as_ref())?;
            self.finished = self.finished.min(index);
            if self.is_cut {
                // The default block differs from every real block, so the block is drawn again once it fits.
                shown.block = Block::default();
                shown.bytes = 0;
                count = index + 1;
                break;
            }
            shown.block = block.clone();
            shown.bytes = bytes;
        }
        for (index, mut gone) in self.blocks.drain(count..).enumerate() {
            replace_changed(Vec::new(), &mut gone.nodes, &self.parts[(count + index) / PART], None)?;
        }
        self.parts.drain(count.div_ceil(PART)..).for_each(|part| part.remove());
        // A block that is followed by another may still change. It is then redrawn and passed to the typesetter again.
        let finished = if complete { count } else { count.saturating_sub(1) };
        for Shown { nodes, .. } in self.blocks.iter().take(finished).skip(self.finished) {
            nodes.iter().filter_map(|node| node.place().dyn_ref()).for_each(dom::typeset);
        }
        self.finished = finished;
        Ok(())
    }
}
