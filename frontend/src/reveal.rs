//! Showing a message that one goes to: its call is opened, it comes into sight, its words are marked, and the focus goes
//! there. Touches the browser alone; what is gone to is decided elsewhere.

use leptos::prelude::document;
use wasm_bindgen::prelude::*;
use web_sys::{Element, HtmlElement, Node, Range};

use crate::{
    browser,
    goal::{Goal, element_id, marks},
    scroll::THREAD_ID,
};

/// Marks the message in the document.
const MARK: &str = "data-goal";
/// The name of the marked words in the style.
const FOUND: &str = "found";
/// So deep are texts looked for in a message.
const MAX_DEPTH: u32 = 64;

#[wasm_bindgen]
extern "C" {
    /// Ranges that the style gives a look of their own.
    type Highlight;

    #[wasm_bindgen(constructor, catch)]
    fn new() -> Result<Highlight, JsValue>;

    #[wasm_bindgen(method)]
    fn add(this: &Highlight, range: &Range);

    type HighlightRegistry;

    #[wasm_bindgen(method)]
    fn set(this: &HighlightRegistry, name: &str, highlight: &Highlight);

    #[wasm_bindgen(method)]
    fn delete(this: &HighlightRegistry, name: &str) -> bool;

    #[wasm_bindgen(thread_local_v2, js_namespace = CSS, js_name = highlights)]
    static HIGHLIGHTS: Option<HighlightRegistry>;
}

/// Shows a place that is on the page, in the next frame. Nothing when it is gone by then.
pub(crate) async fn reveal(goal: Goal) {
    // What was known is drawn by then, and what follows the newest text has had its turn.
    browser::next_frame().await;
    let Some(message) = document().get_element_by_id(&element_id(goal.message)) else { return };
    forget();
    let _ = message.set_attribute(MARK, "");
    let mut place = message.clone();
    let mut focused = message;
    if let Some(call) = goal.call {
        open(&format!(".plan-step:has(#call-{call}) > [aria-expanded=false]"));
        open(&format!(".tool-group > [aria-expanded=false][aria-controls~=call-{call}]"));
        // What was opened is drawn by then, and so is what the call opens.
        browser::next_frame().await;
        open(&format!("#call-{call} > [aria-expanded=false]"));
        browser::next_frame().await;
        if let Some(call) = document().get_element_by_id(&format!("call-{call}")) {
            focused = call.first_element_child().unwrap_or_else(|| call.clone());
            place = call;
        }
    } else {
        let _ = focused.set_attribute("tabindex", "-1");
    }
    let first = mark(&place, &goal.words);
    if let Some(line) = first.as_ref().and_then(folded_above) {
        line.click();
        browser::next_frame().await;
    }
    bring_into_sight(&place, first.as_ref());
    if goal.takes_focus
        && let Some(focused) = focused.dyn_ref::<HtmlElement>()
    {
        browser::focus_in_place(focused);
    }
}

/// The line of the step that a place is folded away in.
fn folded_above(place: &Range) -> Option<HtmlElement> {
    let element = place.start_container().ok()?.parent_element()?;
    let step = element.closest(".plan-step:has(> [aria-expanded=false])").ok()??;
    step.first_element_child()?.dyn_into().ok()
}

/// Nothing is marked any more.
pub(crate) fn forget() {
    if let Ok(Some(marked)) = document().query_selector(&format!("[{MARK}]")) {
        let _ = marked.remove_attribute(MARK);
    }
    HIGHLIGHTS.with(|registry| registry.as_ref().map(|registry| registry.delete(FOUND)));
}

fn open(line: &str) {
    if let Some(line) =
        document().query_selector(line).ok().flatten().and_then(|line| line.dyn_into::<HtmlElement>().ok())
    {
        line.click();
    }
}

/// Marks the words in what stands in `place`, and gives the first of them.
fn mark(place: &Element, words: &[String]) -> Option<Range> {
    let mut ranges = Vec::new();
    if !words.is_empty() {
        add_ranges(place, words, &mut ranges, MAX_DEPTH);
    }
    let _ = HIGHLIGHTS.with(|registry| -> Result<(), JsValue> {
        let Some(registry) = registry else { return Ok(()) };
        let highlight = Highlight::new()?;
        for range in &ranges {
            highlight.add(range);
        }
        registry.set(FOUND, &highlight);
        Ok(())
    });
    ranges.into_iter().next()
}

fn add_ranges(place: &Node, words: &[String], ranges: &mut Vec<Range>, depth: u32) {
    let mut next = place.first_child();
    while let Some(node) = next {
        next = node.next_sibling();
        if node.node_type() == Node::TEXT_NODE {
            let text = node.text_content().unwrap_or_default();
            ranges.extend(marks(&text, words).into_iter().filter_map(|mark| {
                let range = Range::new().ok()?;
                range.set_start(&node, mark.start).ok()?;
                range.set_end(&node, mark.end).ok()?;
                Some(range)
            }));
        } else if depth > 0 {
            add_ranges(&node, words, ranges, depth - 1);
        }
    }
}

/// Scrolls to the first marked word, or to the beginning of the place.
fn bring_into_sight(place: &Element, first: Option<&Range>) {
    let Some(area) = document().get_element_by_id(THREAD_ID) else { return };
    let seen = area.get_bounding_client_rect();
    let (top, share) = match first.map(Range::get_bounding_client_rect) {
        Some(rect) if rect.height() > 0.0 => (rect.top(), 0.3),
        _ => (place.get_bounding_client_rect().top(), 0.1),
    };
    #[expect(clippy::cast_possible_truncation, reason = "pixels of a page")]
    let by = (top - seen.top() - share * seen.height()) as i32;
    area.set_scroll_top(area.scroll_top() + by);
}
