//! Blocks on the page: highlights code and typesets formulas when they come near the viewport.
//!
//! Colors are ranges outside the page's nodes (the CSS Custom Highlight API), so they do not affect copying, selecting
//! and rendering. The browser keeps the ranges until they are removed. So the ranges of code that leaves the viewport
//! or the page are removed. A formula is typeset once and stays. Before printing, all formulas are typeset.

use std::{cell::RefCell, collections::VecDeque, rc::Rc};

use wasm_bindgen::{JsCast as _, JsValue};
use wasm_bindgen_futures::spawn_local;
use web_sys::{Document, Element, Text};

use crate::{
    browser::{self, Highlight, IntersectionObserver, IntersectionObserverEntry, Pace, StaticRange},
    code,
    math::{self, Mathematician},
    token::{Kind, Token},
};

const MATHML: &str = "http://www.w3.org/1998/Math/MathML";

thread_local! {
    static PAGE: Option<Page> = Page::new();
}

/// Watches the blocks in `place`, and `place` itself if it is a block.
pub(crate) fn watch(place: &Element) {
    PAGE.with(|page| {
        let Some(page) = page else { return };
        if is_code(place) {
            page.watch(place);
        }
        for class in ["code", "math"] {
            let blocks = place.get_elements_by_class_name(class);
            (0..blocks.length()).filter_map(|index| blocks.item(index)).for_each(|block| page.watch(&block));
        }
    });
}

fn is_code(block: &Element) -> bool {
    block.class_name() == "code"
}

struct Page {
    observer: IntersectionObserver,
    work: Rc<Work>,
}

impl Page {
    fn new() -> Option<Self> {
        let work = Rc::new(Work {
            document: web_sys::window()?.document()?,
            highlights: Kind::ALL
                .iter()
                .map(|kind| browser::highlight(kind.name()))
                .collect::<Option<_>>()
                .unwrap_or_default(),
            mathematician: Mathematician::new()?,
            state: RefCell::default(),
        });
        let observing = Rc::clone(&work);
        let observer = browser::observer(move |entries, observer| {
            for entry in entries.iter() {
                let entry: IntersectionObserverEntry = entry.unchecked_into();
                let block = entry.target();
                if !entry.is_intersecting() {
                    observing.release(&block);
                    continue;
                }
                if !is_code(&block) {
                    observer.unobserve(&block);
                }
                observing.state.borrow_mut().queue.push_back(block);
            }
            Work::begin(&observing);
        });
        let printed = Rc::clone(&work);
        browser::before_print(move || printed.set_all_formulas());
        Some(Self { observer: observer.ok()?, work })
    }

    /// Processes a block when it comes near the viewport. A block that was processed before is processed again, because
    /// it may have changed.
    fn watch(&self, block: &Element) {
        self.work.release(block);
        self.observer.unobserve(block);
        self.observer.observe(block);
    }
}

/// The pending and the finished work.
struct Work {
    document: Document,
    /// One highlight per kind of token, in their order; empty if the browser does not support highlights.
    highlights: Vec<Highlight>,
    mathematician: Mathematician,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// Blocks near the viewport that are not processed yet.
    queue: VecDeque<Element>,
    /// `true` while a task works on the queue.
    working: bool,
    /// Highlighted code, with its ranges.
    colored: Vec<(Element, Vec<(Kind, StaticRange)>)>,
}

impl Work {
    /// Starts a task that works on the queue until it is empty, unless one is running.
    fn begin(self: &Rc<Self>) {
        if std::mem::replace(&mut self.state.borrow_mut().working, true) {
            return;
        }
        let work = Rc::clone(self);
        spawn_local(async move {
            let mut pace = Pace::begin();
            while let Some(block) = work.next() {
                // A block that fails stays unchanged.
                let _ = if is_code(&block) { work.color(&block, &mut pace).await } else { work.set_formula(&block) };
                pace.breathe().await;
            }
        });
    }

    fn next(&self) -> Option<Element> {
        let mut state = self.state.borrow_mut();
        let next = state.queue.pop_front();
        state.working = next.is_some();
        next
    }

    /// Removes the ranges of code that is not visible, and removes the block from the queue.
    fn release(&self, block: &Element) {
        let mut state = self.state.borrow_mut();
        state.queue.retain(|waiting| waiting != block);
        let Some(at) = state.colored.iter().position(|(colored, _)| colored == block) else { return };
        for (kind, range) in state.colored.swap_remove(at).1 {
            if let Some(highlight) = self.highlights.get(kind as usize) {
                highlight.delete(&range);
            }
        }
    }

    async fn color(&self, block: &Element, pace: &mut Pace) -> Result<(), JsValue> {
        let (Some(label), Some(code)) = (block.query_selector(".code-language")?, block.query_selector("pre > code")?)
        else {
            return Ok(());
        };
        let text = code.text_content().unwrap_or_default();
        let tokens = code::tokens(&text, &label.text_content().unwrap_or_default());
        let mut letters = Letters::new(&code);
        self.release(block);
        self.state.borrow_mut().colored.push((block.clone(), Vec::new()));
        for Token { kind, range } in tokens {
            let Some(range) = letters.range(&text, range)? else { break };
            let Some(highlight) = self.highlights.get(kind as usize) else { break };
            {
                let mut state = self.state.borrow_mut();
                // The block may have left the viewport during a pause.
                let Some((_, ranges)) = state.colored.iter_mut().find(|(colored, _)| colored == block) else {
                    break;
                };
                highlight.add(&range);
                ranges.push((kind, range));
            }
            pace.breathe().await;
        }
        Ok(())
    }

    /// Typesets all remaining formulas without a pause, because the browser prints as soon as this returns.
    fn set_all_formulas(&self) {
        let places = self.document.get_elements_by_class_name("math");
        for place in (0..places.length()).filter_map(|index| places.item(index)) {
            // A formula that fails stays unchanged.
            let _ = self.set_formula(&place);
        }
    }

    fn set_formula(&self, place: &Element) -> Result<(), JsValue> {
        let source = place.get_attribute("data-tex").unwrap_or_default();
        let display = place.has_attribute("data-display");
        if place.first_element_child().is_some() {
            return Ok(());
        }
        let Some(formula) = self.mathematician.read(&source, display) else { return Ok(()) };
        let formula = self.build(formula)?;
        place.set_text_content(None);
        place.append_child(&formula)?;
        // A formula that is wider than its line scrolls, so it must be reachable with the keyboard.
        let room = place.parent_element().map_or(0, |around| around.client_width());
        if formula.scroll_width().max(formula.client_width()) > room {
            place.set_attribute("data-wide", "")?;
            place.set_attribute("tabindex", "0")?;
        }
        Ok(())
    }

    fn build(&self, element: math::Element) -> Result<Element, JsValue> {
        let built = if element.is_html() {
            self.document.create_element(element.tag)?
        } else {
            self.document.create_element_ns(Some(MATHML), element.tag)?
        };
        for (name, value) in &element.attributes {
            built.set_attribute(name, value)?;
        }
        for child in element.children {
            match child {
                math::Node::Text(text) => built.append_child(&self.document.create_text_node(&text))?,
                math::Node::Element(child) => built.append_child(&*self.build(child)?)?,
            };
        }
        Ok(built)
    }
}

/// Maps bytes of the code to text nodes and offsets. Searches the text nodes once, from the first to the last.
struct Letters {
    parts: VecDeque<(Text, usize)>,
    /// Start of the first part, in bytes of the code.
    part: usize,
    /// The last position: in bytes of the code, and in UTF-16 code units of its part.
    byte: usize,
    offset: u32,
}

impl Letters {
    fn new(code: &Element) -> Self {
        let mut parts = VecDeque::new();
        let mut next = code.first_child();
        while let Some(node) = next {
            let text = node.first_child().unwrap_or_else(|| node.clone()).dyn_into::<Text>();
            if let Ok(text) = text {
                let bytes = text.data().len();
                parts.push_back((text, bytes));
            }
            next = node.next_sibling();
        }
        Self { parts, part: 0, byte: 0, offset: 0 }
    }

    /// Returns a range of `text` on the page. Ranges must be requested in order.
    fn range(&mut self, text: &str, range: std::ops::Range<usize>) -> Result<Option<StaticRange>, JsValue> {
        let Some((start, start_offset)) = self.find(text, range.start, 1) else { return Ok(None) };
        let Some((end, end_offset)) = self.find(text, range.end, 0) else { return Ok(None) };
        browser::range((&start, start_offset), (&end, end_offset)).map(Some)
    }

    /// Returns the position of the byte `at`, in a part that has at least `needed` more bytes.
    fn find(&mut self, text: &str, at: usize, needed: usize) -> Option<(Text, u32)> {
        while self.part + self.parts.front()?.1 < at + needed {
            self.part += self.parts.pop_front()?.1;
            (self.byte, self.offset) = (self.part, 0);
        }
        let between = text.get(self.byte..at)?;
        self.offset += u32::try_from(between.encode_utf16().count()).ok()?;
        self.byte = at;
        Some((self.parts.front()?.0.clone(), self.offset))
    }
}
