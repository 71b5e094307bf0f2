//! Swaps the page that the browser rendered in for the server-rendered one. The parts around the message field follow
//! one by one, and so do messages, once the code that renders them is loaded. Until a part is interactive, the
//! server's HTML of it stays. The document's script (`app`) marks the button that the user presses in such a part;
//! the button is pressed again once the part is interactive.

use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, Node, Selection};

use super::{
    IS_HERE,
    focus::{focus, focus_in_place},
    typed::carry_over,
    until_none, window,
};

/// Marks server-rendered elements that the mounted page does not replace or adopt yet.
pub(crate) const DRAWN: &str = "data-drawn";

/// Marks the server-rendered button that the user pressed last, until the part that it is in is interactive. Links
/// work at once.
pub(crate) const PRESSED: &str = "data-pressed";

/// The attribute of `details` elements that are open.
const OPEN: &str = "open";

/// Marks the list of messages while it contains server-rendered ones. Messages become interactive after the rest of
/// the page.
const KEPT_IN: &str = "data-keeps-drawn";

/// Selects the server-rendered elements in the list of messages.
const KEPT: &str = ".messages > [data-drawn]";

/// Position of an element in a message or a part of the page. It is the same in the server-rendered element and in
/// its replacement.
struct Spot {
    /// ID of the message or part.
    within: String,
    /// Index of the child to descend into, at each level.
    path: Vec<usize>,
}

/// The server-rendered page, and the page that is built beside it to replace it.
pub(crate) struct PageSwap {
    old: Element,
    new: HtmlElement,
}

#[cfg_attr(not(feature = "browser"), expect(dead_code, reason = "the server does not mount the page"))]
impl PageSwap {
    /// Starts to replace the element with this ID; `None` if that is not possible.
    pub(crate) fn begin(id: &str) -> Option<Self> {
        let document = window().ok()?.document()?;
        let old = document.get_element_by_id(id)?;
        old.set_attribute(DRAWN, "").ok()?;
        let new: HtmlElement = document.create_element("div").ok()?.unchecked_into();
        new.set_id(id);
        Some(Self { old, new })
    }

    /// Returns the element to build the new page in.
    pub(crate) fn place(&self) -> HtmlElement {
        self.new.clone()
    }

    /// Swaps the new page in for the old one. The scroll positions, the focus, and the text in the field with ID
    /// `field` are kept. Messages, and the elements with the IDs in `parts`, stay server-rendered for now.
    ///
    /// If the user has gone to another address in the meantime (`drop_stale`), the messages are dropped. The text
    /// in the field then stays a draft of the conversation that the user left.
    pub(crate) fn finish(self, parts: &[&str], field: &str) {
        let Self { old, new } = self;
        let scrolled = SCROLLED.map(|area| (area, scroll_top(&old, area)));
        let focused = focused();
        let selected = SelectedText::now();
        let is_of_same = old.has_attribute(DRAWN);
        if is_of_same {
            let _ = keep_messages(&old, &new);
        }
        for id in parts {
            let _ = keep_part(&old, &new, id);
        }
        if old.replace_with_with_node_1(&new).is_err() {
            return;
        }
        for (area, top) in scrolled {
            set_scroll_top(&new, area, top);
        }
        if let Some(focused) = focused {
            if focused.is_connected() {
                focus_in_place(focused.unchecked_ref());
            } else {
                focus(&focused.id());
            }
        }
        if is_of_same {
            // Some pages have no such field.
            let _ = carry_over(&old, &new, field);
        }
        // Last, because a field that gets the focus takes the selection.
        if let Some(selected) = selected {
            selected.restore();
        }
    }
}

/// The text that the user has selected. Browsers drop the selection when its nodes move.
struct SelectedText {
    selection: Selection,
    anchor: (Node, u32),
    focus: (Node, u32),
}

impl SelectedText {
    /// Returns the selection; `None` if it is empty or only a caret.
    fn now() -> Option<Self> {
        let selection = window().ok()?.get_selection().ok()??;
        if selection.is_collapsed() {
            return None;
        }
        let anchor = (selection.anchor_node()?, selection.anchor_offset());
        let focus = (selection.focus_node()?, selection.focus_offset());
        Some(Self { selection, anchor, focus })
    }

    /// Selects the text again, unless its nodes are gone.
    fn restore(self) {
        let Self { selection, anchor, focus } = self;
        if anchor.0.is_connected() && focus.0.is_connected() {
            let _ = selection.set_base_and_extent(&anchor.0, anchor.1, &focus.0, focus.1);
        }
    }
}

/// Waits until no server-rendered element is being pressed. If an element is replaced while it is pressed, the
/// browser sends no click.
pub(crate) async fn released() {
    until_none(&format!("[{DRAWN}]:active")).await;
}

/// Takes note that the page shows another address than the one that the server rendered. Has no effect once the page
/// is mounted.
pub(crate) fn drop_stale() {
    if let Some(old) = find(&format!("body > [{DRAWN}]")) {
        let _ = old.remove_attribute(DRAWN);
    }
}

/// A server-rendered part, until the interactive one replaces it.
pub(crate) struct DrawnPart {
    drawn: Element,
    id: &'static str,
    scrolled: i32,
}

#[cfg_attr(not(feature = "browser"), expect(dead_code, reason = "the server does not mount the page"))]
impl DrawnPart {
    /// Finds the part with this ID. Call it before the replacement is built: reading the scroll position afterwards
    /// would make the browser lay out both.
    pub(crate) fn find(id: &'static str) -> Option<Self> {
        let drawn = find(&format!("#{id}[{DRAWN}]"))?;
        Some(Self { scrolled: drawn.scroll_top(), drawn, id })
    }

    /// Replaces the part with the interactive one, and keeps its scroll position.
    pub(crate) fn replace(self) {
        let Self { drawn, id, scrolled } = self;
        let Some(new) = find(&format!("#{id}:not([{DRAWN}])")) else { return };
        replace(&drawn);
        if scrolled > 0 {
            new.set_scroll_top(scrolled);
        }
    }
}

fn find(selector: &str) -> Option<Element> {
    window().ok()?.document()?.query_selector(selector).ok()?
}

/// Selectors of the elements whose scroll positions are kept.
const SCROLLED: [&str; 2] = [".thread", ".sidebar"];

fn scroll_top(page: &Element, area: &str) -> i32 {
    page.query_selector(area).ok().flatten().map_or(0, |area| area.scroll_top())
}

fn set_scroll_top(page: &Element, area: &str, top: i32) {
    if let Some(area) = page.query_selector(area).ok().flatten() {
        area.set_scroll_top(top);
    }
}

fn focused() -> Option<Element> {
    window().ok()?.document()?.active_element()
}

/// Moves a server-rendered part into the new page: it becomes the first child of the element that will contain its
/// replacement.
fn keep_part(old: &Element, new: &Element, id: &str) -> Option<()> {
    let part = old.query_selector(&format!("#{id}")).ok()??;
    let around = part.parent_element()?;
    let named =
        if around.id().is_empty() { format!(".{}", around.class_list().item(0)?) } else { format!("#{}", around.id()) };
    let place = new.query_selector(&named).ok()??;
    part.set_attribute(DRAWN, "").ok()?;
    place.prepend_with_node_1(&part).ok()
}

/// Moves the server-rendered messages, and the elements between them, into the new page, unless that already has
/// messages. Messages out of view need no new layout, because their heights are known.
fn keep_messages(old: &Element, new: &Element) -> Option<()> {
    let list = new.query_selector(".messages").ok()??;
    // Below the button for earlier messages, and above the messages.
    let place = list.query_selector(".earlier-place").ok()??;
    if list.child_element_count() > 1 {
        return None;
    }
    keep_heights(old)?;
    list.set_attribute(KEPT_IN, "").ok()?;
    let drawn = old.query_selector_all(".messages > *").ok()?;
    for element in (0..drawn.length()).rev().filter_map(|at| drawn.item(at)?.dyn_into::<Element>().ok()) {
        element.set_attribute(DRAWN, "").ok()?;
        place.after_with_node_1(&element).ok()?;
    }
    Some(())
}

/// Formats a number with the browser's code, because Rust's code for that is large.
fn written(number: f64) -> String {
    js_sys::Number::from(number).to_string_with_radix(10).map(String::from).unwrap_or_default()
}

/// Stores the height of each message, so that the browser can skip the layout of messages out of view.
fn keep_heights(old: &Element) -> Option<()> {
    let found = old.query_selector_all(".message").ok()?;
    let messages = (0..found.length()).filter_map(|at| found.item(at)?.dyn_into::<HtmlElement>().ok());
    let measured: Vec<_> =
        messages.map(|message| (written(message.get_bounding_client_rect().height()), message)).collect();
    for (height, message) in measured {
        HtmlElement::style(&message).set_property("contain-intrinsic-height", &format!("auto {height}px")).ok()?;
        message.set_attribute("data-measured", "").ok()?;
    }
    Some(())
}

impl Spot {
    fn of(element: &Element, within: &Element) -> Self {
        let parents = std::iter::successors(Some(element.clone()), |element| element.parent_element());
        let path = parents.take_while(|element| element != within);
        let place = |element: Element| {
            let before = |element: &Element| element.previous_element_sibling();
            std::iter::successors(before(&element), before).count()
        };
        let mut path: Vec<_> = path.map(place).collect();
        path.reverse();
        Self { within: within.id(), path }
    }

    fn find(&self) -> Option<HtmlElement> {
        let within = window().ok()?.document()?.get_element_by_id(&self.within)?;
        let child = |element: Element, at: &usize| element.children().item(u32::try_from(*at).ok()?);
        self.path.iter().try_fold(within, child)?.dyn_into().ok()
    }
}

/// Removes the server-rendered messages that the mounted page has rendered, from the last one up to the first that it
/// has not.
pub(crate) fn replace_stale() {
    let Some(document) = window().ok().and_then(|window| window.document()) else { return };
    let Ok(drawn) = document.query_selector_all(KEPT) else { return };
    for element in (0..drawn.length()).rev().filter_map(|at| drawn.item(at)?.dyn_into::<Element>().ok()) {
        let is_here = || find(&format!("#{}:not([{DRAWN}])", element.id())).is_some();
        if is_message(&element) && !is_here() {
            return;
        }
        replace(&element);
    }
}

/// Removes a server-rendered element that the page has replaced. A `details` element stays open, the focus stays in
/// its place, and a button that the user pressed in it is pressed again.
fn replace(drawn: &Element) {
    let spot = |element: &Element| drawn.contains(Some(element)).then(|| Spot::of(element, drawn));
    let focused = focused().as_ref().and_then(spot);
    let pressed = find(&format!("[{PRESSED}]")).map(|pressed| (spot(&pressed), pressed));
    drawn.remove();
    if drawn.has_attribute(OPEN)
        && let Some(same) = find(&format!("#{}", drawn.id()))
    {
        let _ = same.set_attribute(OPEN, "");
    }
    if let Some(focused) = focused.and_then(|spot| spot.find()) {
        focus_in_place(&focused);
    }
    match pressed {
        Some((Some(spot), pressed)) => {
            // The replacement may have another button in that place.
            if let Some(same) = spot.find().filter(|found| name(found) == name(&pressed)) {
                same.click();
            }
        }
        // The button is in HTML that the page adopted, so it is interactive in its place.
        Some((None, taken)) if !is_drawn(&taken) => {
            let _ = taken.remove_attribute(PRESSED);
            taken.unchecked_into::<HtmlElement>().click();
        }
        _ => {}
    }
}

fn name(button: &Element) -> Option<String> {
    button.get_attribute("data-testid")
}

fn is_drawn(element: &Element) -> bool {
    element.closest(&format!("[{DRAWN}]")).is_ok_and(|drawn| drawn.is_some())
}

/// Removes all server-rendered messages that are left.
pub(crate) fn remove_stale() {
    let Some(document) = window().ok().and_then(|window| window.document()) else { return };
    if let Ok(drawn) = document.query_selector_all(KEPT) {
        for element in (0..drawn.length()).filter_map(|at| drawn.item(at)?.dyn_into::<Element>().ok()) {
            element.remove();
        }
    }
    if let Some(list) = find(&format!("[{KEPT_IN}]")) {
        let _ = list.remove_attribute(KEPT_IN);
    }
}

/// Returns the server-rendered element with this ID, for its content or its scroll position. Returns `None` if it does
/// not exist, or no longer.
pub(crate) fn drawn_by_server(id: &str) -> Option<Element> {
    if IS_HERE { find(&format!("[{DRAWN}] #{id}")) } else { None }
}

/// Returns the server-rendered message with this ID, and marks it as part of the mounted page. It stays in its place.
pub(crate) fn adopt_drawn(id: &str) -> Option<Element> {
    if !IS_HERE {
        return None;
    }
    let message = find(&format!("#{id}[{DRAWN}]"))?;
    message.remove_attribute(DRAWN).ok()?;
    Some(message)
}

fn is_message(element: &Element) -> bool {
    element.class_list().contains("message")
}
