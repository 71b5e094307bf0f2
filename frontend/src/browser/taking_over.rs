//! Putting the page that is built here in the place of the one that the server drew. What is around the message field follows part by
//! part, and messages one by one, when the code that draws them is here: until one is alive it stands as the server drew it, and what
//! is pressed in it (which the document's script marks, `app`) is done when it is.

use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement, Node, Selection};

use super::{
    IS_HERE,
    focus::{focus, focus_in_place},
    typed::carry_over,
    until_none, window,
};

/// Marks what the server drew, as long as it stands where the page will be.
pub(crate) const DRAWN: &str = "data-drawn";

/// Marks the button of what the server drew that was pressed last, until there is somebody to hear it. Links are followed at once.
pub(crate) const PRESSED: &str = "data-pressed";

/// What browsers give to details that are open.
const OPEN: &str = "open";

/// Where that is of messages, which are alive after the rest of the page.
const KEPT_IN: &str = "data-keeps-drawn";

/// What stands there of messages that the page does not have yet.
const KEPT: &str = ".messages > [data-drawn]";

/// A place in a message or a part of the page, which is the same in what the server drew of it and in what is alive (`take_drawn`).
struct Spot {
    /// The id of what it is in.
    within: String,
    /// Which child of which, from there down.
    path: Vec<usize>,
}

/// The page that is built anew beside the one that the server drew.
pub(crate) struct TakingOver {
    old: Element,
    new: HtmlElement,
}

#[cfg_attr(not(feature = "browser"), expect(dead_code, reason = "a server takes nothing over"))]
impl TakingOver {
    /// Begins to replace the element that has this id; `None` when nothing can be replaced.
    pub(crate) fn begin(id: &str) -> Option<Self> {
        let document = window().ok()?.document()?;
        let old = document.get_element_by_id(id)?;
        old.set_attribute(DRAWN, "").ok()?;
        let new: HtmlElement = document.create_element("div").ok()?.unchecked_into();
        new.set_id(id);
        Some(Self { old, new })
    }

    /// Where the new page is to be built.
    pub(crate) fn place(&self) -> HtmlElement {
        self.new.clone()
    }

    /// Puts the new page in the place of the old one: scrolled as that was, with the focus where it was, and with what was written
    /// in the field with this id. Messages, and the parts with these ids, stay as the server drew them. Where somebody went elsewhere
    /// meanwhile (`forget_drawn`), the messages go, and what was written stays a draft of what was left.
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
            // Not every page has one.
            let _ = carry_over(&old, &new, field);
        }
        // Last: a field that gets the focus takes the selection.
        if let Some(selected) = selected {
            selected.restore();
        }
    }
}

/// What the user has selected. Browsers forget it when the nodes that it is in are moved.
struct SelectedText {
    selection: Selection,
    anchor: (Node, u32),
    focus: (Node, u32),
}

impl SelectedText {
    /// Returns what is selected; `None` if nothing is, or only a caret is somewhere.
    fn now() -> Option<Self> {
        let selection = window().ok()?.get_selection().ok()??;
        if selection.is_collapsed() {
            return None;
        }
        let anchor = (selection.anchor_node()?, selection.anchor_offset());
        let focus = (selection.focus_node()?, selection.focus_offset());
        Some(Self { selection, anchor, focus })
    }

    /// Selects it again, unless its nodes are gone.
    fn restore(self) {
        let Self { selection, anchor, focus } = self;
        if anchor.0.is_connected() && focus.0.is_connected() {
            let _ = selection.set_base_and_extent(&anchor.0, anchor.1, &focus.0, focus.1);
        }
    }
}

/// Waits until nothing that the server drew is being pressed: what is let go above something else is no click.
pub(crate) async fn released() {
    until_none(&format!("[{DRAWN}]:active")).await;
}

/// Another place is open than the server drew. Once the page is in its place nothing of that is left to be forgotten.
pub(crate) fn forget_drawn() {
    if let Some(old) = find(&format!("body > [{DRAWN}]")) {
        let _ = old.remove_attribute(DRAWN);
    }
}

/// A part as the server drew it, until the one that is alive takes its place.
pub(crate) struct DrawnPart {
    drawn: Element,
    id: &'static str,
    scrolled: i32,
}

#[cfg_attr(not(feature = "browser"), expect(dead_code, reason = "a server takes nothing over"))]
impl DrawnPart {
    /// The part with this id. To be called before the other one is built: to ask then how far it is scrolled would have browsers lay
    /// out both.
    pub(crate) fn find(id: &'static str) -> Option<Self> {
        let drawn = find(&format!("#{id}[{DRAWN}]"))?;
        Some(Self { scrolled: drawn.scroll_top(), drawn, id })
    }

    /// Makes way for the one that is there by now, which is scrolled as this was.
    pub(crate) fn make_way(self) {
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

/// What may be scrolled, and stays as it is.
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

/// Moves what the server drew of a part to where the new page will have it: first in what is around it.
fn keep_part(old: &Element, new: &Element, id: &str) -> Option<()> {
    let part = old.query_selector(&format!("#{id}")).ok()??;
    let around = part.parent_element()?;
    let named =
        if around.id().is_empty() { format!(".{}", around.class_list().item(0)?) } else { format!("#{}", around.id()) };
    let place = new.query_selector(&named).ok()??;
    part.set_attribute(DRAWN, "").ok()?;
    place.prepend_with_node_1(&part).ok()
}

/// Moves the messages, and what stands among them, to where the new page has none yet. Out of sight they are not laid out anew: their
/// heights are known.
fn keep_messages(old: &Element, new: &Element) -> Option<()> {
    let list = new.query_selector(".messages").ok()??;
    // Below what leads to earlier messages, and above the messages.
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

/// A number as the browser writes it: what Rust has for that is large.
fn written(number: f64) -> String {
    js_sys::Number::from(number).to_string_with_radix(10).map(String::from).unwrap_or_default()
}

/// Lets messages go out of the layout while they are out of sight, with the heights that they have.
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

/// Takes out what the server drew of messages that are here by now.
pub(crate) fn replace_drawn() {
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

/// Takes out what the server drew of something that is here by now. What was pressed in it is pressed, what was opened is open, and
/// the focus stays where it was.
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
            // What came meanwhile may have another button there.
            if let Some(same) = spot.find().filter(|found| name(found) == name(&pressed)) {
                same.click();
            }
        }
        // What was taken over as it stands is alive where it is.
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

/// Takes out all that is left of what the server drew.
pub(crate) fn remove_drawn() {
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

/// What the server drew under this id, to be taken over as it stands; `None` when it is not there, or no more.
pub(crate) fn drawn_by_server(id: &str) -> Option<Element> {
    if IS_HERE { find(&format!("[{DRAWN}] #{id}")) } else { None }
}

/// Returns the message that the server wrote under this ID, and makes it the page's: it stays where it is.
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
