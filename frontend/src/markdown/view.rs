//! Markdown as a Leptos view. It is a view type of its own, not made of Leptos' elements: a page of the server needs no
//! reading to be taken over, a text that grows is drawn where it grows, and one type for all tags keeps the page small.

use leptos::{
    prelude::{AddAnyAttr, Mountable, Render, RenderHtml},
    tachys::{
        html::attribute::{Attribute, any_attribute::AnyAttribute},
        hydration::Cursor,
        view::{Position, PositionState},
    },
};
use wasm_bindgen::{JsCast as _, JsValue};
use web_sys::Element;

use crate::language::Language;

use super::{Block, Document, dom, node, render::render};

/// A stretch of an answer, as far as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Its Markdown.
    pub(crate) text: String,
    /// Whether nothing more is to come.
    pub(crate) complete: bool,
    /// What buttons and labels speak.
    pub(crate) language: Language,
}

/// A stretch on the page.
pub(crate) struct Prose {
    place: Element,
    /// What was drawn; `None` when it was the server who drew it, or when nothing more is to come.
    drawn: Option<Drawing>,
}

#[derive(Default)]
struct Drawing {
    document: Document,
    /// Each block with its nodes, as they stand on the page.
    blocks: Vec<(Block, Vec<dom::Drawn>)>,
    /// So many blocks at the beginning are as good as finished and were handed to the second file.
    finished: usize,
}

impl Prose {
    fn draw(&mut self, stretch: &Stretch) {
        let continued = self.drawn.take().and_then(|drawing| drawing.draw_on(stretch, &self.place).ok());
        let drawing = continued.or_else(|| {
            self.place.set_text_content(None);
            Drawing::default().draw_on(stretch, &self.place).ok()
        });
        self.drawn = drawing.filter(|_| !stretch.complete);
    }
}

impl Drawing {
    /// Brings the page up to date with the text, touching only what changed.
    fn draw_on(mut self, stretch: &Stretch, place: &Element) -> Result<Self, JsValue> {
        let kept = self.document.update(&stretch.text, stretch.complete);
        let blocks = self.document.blocks();
        for (index, block) in blocks.iter().enumerate().skip(kept) {
            if self.blocks.get(index).is_some_and(|(shown, _)| shown == block) {
                continue;
            }
            let next = self.blocks.iter().skip(index + 1).find_map(|(_, nodes)| nodes.first());
            let next = next.map(|next| next.place().clone());
            if index == self.blocks.len() {
                self.blocks.push((Block::default(), Vec::new()));
            }
            let (shown, nodes) = &mut self.blocks[index];
            dom::show(render(block, stretch.language), nodes, place, next.as_ref())?;
            *shown = block.clone();
            self.finished = self.finished.min(index);
        }
        for (_, mut nodes) in self.blocks.drain(blocks.len()..) {
            dom::show(Vec::new(), &mut nodes, place, None)?;
        }
        // Should one that is followed by another change all the same, it is drawn and handed over anew.
        let finished = if stretch.complete { blocks.len() } else { blocks.len().saturating_sub(1) };
        for (_, nodes) in self.blocks.iter().take(finished).skip(self.finished) {
            nodes.iter().filter_map(|node| node.place().dyn_ref()).for_each(dom::typeset);
        }
        self.finished = finished;
        Ok(self)
    }
}

impl Render for Stretch {
    type State = Prose;

    #[expect(clippy::expect_used, reason = "a page cannot be without elements")]
    fn build(self) -> Prose {
        let place = dom::create("div").expect("views are built in a browser alone");
        place.set_class_name("prose");
        let mut prose = Prose { place, drawn: None };
        prose.draw(&self);
        prose
    }

    fn rebuild(self, prose: &mut Prose) {
        prose.draw(&self);
    }
}

impl RenderHtml for Stretch {
    type AsyncOutput = Self;
    type Owned = Self;

    const MIN_LENGTH: usize = 0;

    fn dry_resolve(&mut self) {}

    async fn resolve(self) -> Self {
        self
    }

    fn to_html_with_buf(
        self,
        html: &mut String,
        position: &mut Position,
        _escape: bool,
        _mark_branches: bool,
        _extra_attributes: Vec<AnyAttribute>,
    ) {
        html.push_str("<div class=\"prose\">");
        for block in Document::complete(&self.text).blocks() {
            node::write_html(&render(block, self.language), html);
        }
        html.push_str("</div>");
        *position = Position::NextChild;
    }

    fn hydrate<const FROM_SERVER: bool>(self, cursor: &Cursor, position: &PositionState) -> Prose {
        match position.get() {
            Position::FirstChild => cursor.child(),
            Position::Current => {}
            _ => cursor.sibling(),
        }
        position.set(Position::NextChild);
        // Its content stays as it is and is not even read. If it is not complete, it will be drawn anew.
        let place: Element = cursor.current().unchecked_into();
        if self.complete {
            dom::typeset(&place);
        }
        Prose { place, drawn: None }
    }

    fn into_owned(self) -> Self {
        self
    }
}

impl AddAnyAttr for Stretch {
    type Output<New: Attribute> = Self;

    fn add_any_attr<New: Attribute>(self, _attribute: New) -> Self {
        self
    }
}

impl Mountable for Prose {
    fn unmount(&mut self) {
        self.place.unmount();
    }

    fn mount(&mut self, parent: &Element, marker: Option<&web_sys::Node>) {
        self.place.mount(parent, marker);
    }

    fn insert_before_this(&self, child: &mut dyn Mountable) -> bool {
        self.place.insert_before_this(child)
    }

    fn elements(&self) -> Vec<Element> {
        vec![self.place.clone()]
    }
}
