//! Markdown drawn in an element of the page, touched only where it grows. Blocks that are finished are never touched again,
//! but for link definitions that come after their use: a text that is complete is cut once more as a whole.

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
    nodes: Vec<dom::Drawn>,
    /// About how many bytes it has as HTML.
    bytes: usize,
}

/// What stands in the element.
#[derive(Default)]
struct Drawn {
    document: Document,
    /// Each block with its nodes and their size.
    blocks: Vec<Shown>,
    /// `true` if the last of them is the sentence that the rest is left out.
    is_cut: bool,
    /// What they stand in, [`PART`] of them in each.
    parts: Vec<Element>,
    /// So many blocks at the beginning are as good as finished, and their code and formulas were seen to.
    finished: usize,
}

impl Drawing {
    /// Begins to draw in `place`, whatever stands there now. The ids in it begin with that of the place.
    pub fn begin(place: Element, labels: Labels) -> Self {
        place.set_text_content(None);
        Self { place, labels, drawn: Drawn::default() }
    }

    /// Shows the text as it is now; `complete` says that nothing more is to come.
    pub fn draw(&mut self, text: &str, complete: bool) {
        if self.drawn.draw_on(text, complete, &self.labels, &self.place).is_err() {
            // Somebody else, as a translating extension does, has moved what was drawn.
            self.place.set_text_content(None);
            self.drawn = Drawn::default();
            // An empty element takes everything.
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
                // What was drawn fits, unless blocks before it have grown.
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
            dom::show(nodes, &mut shown.nodes, &self.parts[at], next.as_ref())?;
            self.finished = self.finished.min(index);
            if self.is_cut {
                // No block is like this one, so it is drawn again once there is room for it.
                shown.block = Block::default();
                shown.bytes = 0;
                count = index + 1;
                break;
            }
            shown.block = block.clone();
            shown.bytes = bytes;
        }
        for (index, mut gone) in self.blocks.drain(count..).enumerate() {
            dom::show(Vec::new(), &mut gone.nodes, &self.parts[(count + index) / PART], None)?;
        }
        self.parts.drain(count.div_ceil(PART)..).for_each(|part| part.remove());
        // Should one that is followed by another change all the same, it is drawn and handed over anew.
        let finished = if complete { count } else { count.saturating_sub(1) };
        for Shown { nodes, .. } in self.blocks.iter().take(finished).skip(self.finished) {
            nodes.iter().filter_map(|node| node.place().dyn_ref()).for_each(dom::typeset);
        }
        self.finished = finished;
        Ok(())
    }
}
