//! Markdown drawn in an element of the page, touched only where it grows. Blocks that are finished are never touched again,
//! but for link definitions that come after their use: a text that is complete is cut once more as a whole.

use wasm_bindgen::prelude::*;
use web_sys::Element;

use crate::{Block, Document, Labels, PART, dom, render::render};

/// A text that is drawn in an element of the page.
pub struct Drawing {
    place: Element,
    labels: Labels,
    drawn: Drawn,
}

/// What stands in the element.
#[derive(Default)]
struct Drawn {
    document: Document,
    /// Each block with its nodes.
    blocks: Vec<(Block, Vec<dom::Drawn>)>,
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
        let blocks = self.document.blocks();
        for (index, block) in blocks.iter().enumerate().skip(kept) {
            if self.blocks.get(index).is_some_and(|(shown, _)| shown == block) {
                continue;
            }
            let at = index / PART;
            if at == self.parts.len() {
                self.parts.push(dom::append_part(place)?);
            }
            let mut after = self.blocks.iter().take((at + 1) * PART).skip(index + 1);
            let next = after.find_map(|(_, nodes)| nodes.first()).map(|next| next.place().clone());
            if index == self.blocks.len() {
                self.blocks.push((Block::default(), Vec::new()));
            }
            let (shown, nodes) = &mut self.blocks[index];
            dom::show(render(block, &place.id(), labels), nodes, &self.parts[at], next.as_ref())?;
            *shown = block.clone();
            self.finished = self.finished.min(index);
        }
        for (index, (_, mut nodes)) in self.blocks.drain(blocks.len()..).enumerate() {
            dom::show(Vec::new(), &mut nodes, &self.parts[(blocks.len() + index) / PART], None)?;
        }
        self.parts.drain(blocks.len().div_ceil(PART)..).for_each(|part| part.remove());
        // Should one that is followed by another change all the same, it is drawn and handed over anew.
        let finished = if complete { blocks.len() } else { blocks.len().saturating_sub(1) };
        for (_, nodes) in self.blocks.iter().take(finished).skip(self.finished) {
            nodes.iter().filter_map(|node| node.place().dyn_ref()).for_each(dom::typeset);
        }
        self.finished = finished;
        Ok(())
    }
}
