//! Shows a message that the user goes to: opens its call, scrolls to it, marks its words, and moves the focus to it.
//! Uses the document; `goal` has the place to show.

use std::cell::Cell;

use futures_util::{FutureExt as _, future::LocalBoxFuture};
use leptos::{
    prelude::document,
    wasm_split::{SplitLoaderError, wasm_split},
};
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, Node, Range};

use crate::{
    browser,
    goal::{Goal, element_id, marks},
    highlight::{self, Mark},
    places,
    scroll::{self, THREAD_ID},
};

/// Attribute of the message's element.
const MARK: &str = "data-goal";
/// Maximum depth of the elements of a message whose text is searched.
const MAX_DEPTH: u32 = 64;

thread_local! {
    /// Number of the latest goal. Opening a call takes some frames, and the user may have gone elsewhere in the
    /// meantime.
    static LATEST: Cell<u32> = const { Cell::new(0) };
}

/// Shows a place on the page, in the next frame. Does nothing if the place no longer exists by then, or if there is a
/// newer goal. The code is in the chunk with messages, because only they have places to show.
#[wasm_split(messages, wasm_split_path = ::leptos::wasm_split, fallible)]
#[allow(clippy::unnecessary_wraps, reason = "the error is that the chunk could not be loaded")]
pub(crate) fn reveal(goal: Goal) -> Result<LocalBoxFuture<'static, ()>, SplitLoaderError> {
    Ok(show(goal).boxed_local())
}

async fn show(goal: Goal) {
    let number = LATEST.get().wrapping_add(1);
    LATEST.set(number);
    // By then, the known messages are rendered, and scrolling to the newest text is done.
    browser::next_frame().await;
    if LATEST.get() != number {
        return;
    }
    let Some(message) = document().get_element_by_id(&element_id(goal.message)) else { return };
    if let Some(offset) = goal.offset {
        scroll::show_reading(&message, offset);
        return;
    }
    unmark();
    let _ = message.set_attribute(MARK, "");
    let mut place = message.clone();
    let mut focused = message;
    if let Some(call) = goal.call {
        open(&format!(".plan-step:has(#call-{call}) > [aria-expanded=false]"));
        open(&format!(".tool-group > [aria-expanded=false][aria-controls~=call-{call}]"));
        // By then, the opened step or group is rendered, and with it the button that opens the call.
        browser::next_frame().await;
        open(&format!("#call-{call} > [aria-expanded=false]"));
        browser::next_frame().await;
        if LATEST.get() != number {
            return;
        }
        if let Some(call) = document().get_element_by_id(&format!("call-{call}")) {
            focused = call.first_element_child().unwrap_or_else(|| call.clone());
            place = call;
        }
    } else {
        let _ = focused.set_attribute("tabindex", "-1");
    }
    let first = mark(&place, &goal);
    for folding in first.as_ref().map(folded_above).into_iter().flatten().flatten() {
        folding.click();
        browser::next_frame().await;
    }
    bring_into_sight(&place, first.as_ref());
    if goal.takes_focus
        && let Some(focused) = focused.dyn_ref::<HtmlElement>()
    {
        browser::focus_in_place(focused);
    }
}

/// Returns the buttons that expand the plan step and the long question that the place is hidden in.
fn folded_above(place: &Range) -> [Option<HtmlElement>; 2] {
    let element = place.start_container().ok().and_then(|node| node.parent_element());
    let above = |selector| element.as_ref()?.closest(selector).ok()?;
    let step = above(".plan-step:has(> [aria-expanded=false])").and_then(|step| step.first_element_child());
    let question = above(".bubble-text.folded").and_then(|text| text.next_element_sibling());
    [step, question].map(|folding| folding?.dyn_into().ok())
}

/// Removes the marks, and cancels a goal that is not shown yet.
pub(crate) fn forget() {
    LATEST.set(LATEST.get().wrapping_add(1));
    unmark();
}

fn unmark() {
    if let Ok(Some(marked)) = document().query_selector(&format!("[{MARK}]")) {
        let _ = marked.remove_attribute(MARK);
    }
    highlight::clear(Mark::Found);
}

fn open(line: &str) {
    if let Some(line) =
        document().query_selector(line).ok().flatten().and_then(|line| line.dyn_into::<HtmlElement>().ok())
    {
        line.click();
    }
}

/// Marks the matches of the goal in `place`: all of its words, or one match of its phrase. Returns the first marked
/// range.
fn mark(place: &Element, goal: &Goal) -> Option<Range> {
    let mut ranges = Vec::new();
    if let Some((phrase, nth)) = &goal.phrase {
        let mut found = places::ranges_of(place, phrase);
        // A call may show fewer matches than it has, because only the beginning of a long text is shown.
        if let Some(last) = found.len().checked_sub(1) {
            ranges.push(found.swap_remove(last.min(*nth)));
        }
    } else if !goal.words.is_empty() {
        add_ranges(place, &goal.words, &mut ranges, MAX_DEPTH);
    }
    highlight::show(Mark::Found, &ranges);
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

/// Scrolls to the first marked range, or to the beginning of the place.
fn bring_into_sight(place: &Element, first: Option<&Range>) {
    let Some(area) = document().get_element_by_id(THREAD_ID) else { return };
    let seen = area.get_bounding_client_rect();
    let (top, share) = match first.map(Range::get_bounding_client_rect) {
        Some(rect) if rect.height() > 0.0 => (rect.top(), 0.3),
        _ => (place.get_bounding_client_rect().top(), 0.1),
    };
    #[expect(clippy::cast_possible_truncation, reason = "a distance in pixels of a page fits")]
    let by = (top - seen.top() - share * seen.height()) as i32;
    area.set_scroll_top(area.scroll_top() + by);
}
