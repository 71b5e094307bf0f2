//! Attaches the page to the elements that the server rendered. The elements around the messages and the message field,
//! and the messages themselves, stay as they are and become interactive in their place, so the user keeps the focus,
//! the caret, a selection and the scroll position. Everything else is built again and replaces the server's elements:
//! first what is around the message field, and the list and the header once they are used. The document's script
//! (`app`) keeps the buttons that the user presses in parts that are not interactive yet, and presses them again once
//! they are.

use wasm_bindgen::{JsCast, closure::Closure};
use web_sys::{Element, Event, HtmlElement, HtmlInputElement, Node};

use super::{
    IS_HERE, announce,
    focus::{focus, focus_in_place},
    while_true, window,
};

/// Marks server-rendered elements that are not part of the interactive page yet.
pub(crate) const DRAWN: &str = "data-drawn";

/// Marks buttons that the user pressed before the part that they are in was interactive. Links work at once.
pub(crate) const PRESSED: &str = "data-pressed";

/// Marks a copy of the server's HTML that the page shows while it loads what it needs to build the part.
pub(crate) const COPIED: &str = "data-stand-in";

/// Name of the event that tells the document's script that more of the page is interactive.
pub(crate) const ATTACHED_MORE: &str = "attached-more";

/// Marks elements that stay when the element that they are in is attached, because they are attached or replaced later.
pub(crate) const PART: &str = "data-part";

/// Marks server-rendered elements that the page is attached to, until all of the page is.
pub(crate) const ATTACHED: &str = "data-attached";

/// Marks the page if the user left the address that the server rendered it for.
const STALE: &str = "data-stale";

/// The attribute of `details` elements that are open.
const OPEN: &str = "open";

/// Selects the server-rendered messages that are not part of the interactive page yet.
const DRAWN_MESSAGES: &str = ".message[data-drawn]";

/// Position of an element in a message or a part of the page. It is the same in the server-rendered element and in
/// its replacement.
struct Spot {
    /// ID of the message or part.
    within: String,
    /// Index of the child to descend into, at each level.
    path: Vec<usize>,
}

/// Starts to attach the page to the element with this ID, and returns the element. Returns `None` if there is none.
#[cfg_attr(not(feature = "browser"), expect(dead_code, reason = "the server does not mount the page"))]
pub(crate) fn begin(id: &str) -> Option<HtmlElement> {
    let root = find(&format!("#{id}"))?;
    mark(&root);
    root.dyn_into().ok()
}

/// Returns the server-rendered element with this ID, to build its new children in it. Returns `None` if the server
/// rendered no such element, if it is already in use, or if it belongs to an address that the user has left.
pub(crate) fn attach(id: &str) -> Option<Element> {
    let element = drawn_by_server(id).filter(|element| element.has_attribute(DRAWN))?;
    element.remove_attribute(DRAWN).ok()?;
    mark(&element);
    Some(element)
}

fn mark(element: &Element) {
    for child in children(element) {
        let _ = child.set_attribute(DRAWN, "");
    }
    let _ = element.set_attribute(ATTACHED, "");
}

/// Inserts an element into its parent. An element of the server that is already there does not move. New nodes that
/// belong before it move instead: those that are between it and `marker`, the node that comes next.
pub(crate) fn insert(element: &Element, parent: &Element, marker: Option<&Node>) {
    if element.parent_element().as_ref() != Some(parent) {
        let _ = parent.insert_before(element, marker);
        return;
    }
    let mut new = Vec::new();
    let mut next = element.next_sibling();
    while next.as_ref() != marker {
        // The marker is not among the nodes after the element, so all is in order.
        let Some(node) = next else { return };
        next = node.next_sibling();
        new.push(node);
    }
    // A popover would close if it were moved, and its place does not matter.
    let stays = format!("[{DRAWN}], [{ATTACHED}], .message, [popover]");
    let is_new = |node: &Node| node.dyn_ref::<Element>().is_none_or(|element| element.matches(&stays) != Ok(true));
    for node in new.into_iter().filter(is_new) {
        let _ = parent.insert_before(&node, Some(element));
    }
}

/// Removes the server's children of an attached element, once its new children are built. Parts and messages stay.
pub(crate) fn replace_children(element: &Element) {
    remove_drawn(element, |child| child.has_attribute(PART));
}

/// Removes the server's children of an element, except messages of the shown conversation and those that `stays` names.
fn remove_drawn(element: &Element, stays: impl Fn(&Element) -> bool) {
    let focused = focused();
    let is_over = |child: &Element| !stays(child) && (!is_message(child) || is_stale(child));
    for child in children(element).into_iter().filter(|child| child.has_attribute(DRAWN) && is_over(child)) {
        child.remove();
    }
    if let Some(focused) = focused.filter(|focused| !focused.is_connected()) {
        focus(&focused.id());
    }
}

/// Removes the server's parts that the page did not attach to. Messages stay, and the parts with the IDs in `later`.
/// Their controls can be used from now on: using one loads the code of its part ([`when_used`]).
#[cfg_attr(not(feature = "browser"), expect(dead_code, reason = "the server does not mount the page"))]
pub(crate) fn finish(later: &[&str]) {
    for element in found(&format!("[{ATTACHED}]")) {
        remove_drawn(&element, |child| later.contains(&&*child.id()));
        let _ = element.remove_attribute(ATTACHED);
        let _ = element.remove_attribute(STALE);
    }
    let controls = later.iter().map(|part| format!("#{part}[{DRAWN}] :disabled"));
    // Other disabled buttons of a message stay so, for example the arrow at its first version.
    let controls = controls.chain([format!("{DRAWN_MESSAGES} .listbox-button:disabled")]);
    for control in controls.flat_map(|controls| found(&controls)) {
        let _ = control.remove_attribute("disabled");
    }
}

/// Returns `true` if an event happened in an element that matches a selector.
pub(crate) fn is_within(event: &Event, selector: &str) -> bool {
    let place = event.target().and_then(|target| target.dyn_into::<Element>().ok());
    place.is_some_and(|place| matches!(place.closest(selector), Ok(Some(_))))
}

/// Calls `act` whenever one of `events` happens in one of the elements with these IDs, and at once if the user has
/// already pressed, focused or filled in something there. Returns a function that ends this.
pub(crate) fn when_used(
    ids: &'static [&'static str],
    events: &'static [&'static str],
    act: impl Fn() + 'static,
) -> impl FnOnce() {
    let selector = |rest: &str| ids.iter().map(|id| format!("#{id}{rest}")).collect::<Vec<_>>().join(", ");
    let signs = [&format!(" [{PRESSED}]"), " :focus", " [placeholder]:not(:placeholder-shown)"];
    if signs.iter().any(|sign| find(&selector(sign)).is_some()) {
        act();
    }
    let used = selector("");
    let hear = Closure::<dyn Fn(Event)>::new(move |event: Event| {
        if is_within(&event, &used) {
            act();
        }
    });
    for (window, event) in window().iter().flat_map(|window| events.iter().map(move |event| (window, *event))) {
        // Scrolling is only heard on the way down.
        let _ = window.add_event_listener_with_callback_and_bool(event, hear.as_ref().unchecked_ref(), true);
    }
    move || {
        for (window, event) in window().iter().flat_map(|window| events.iter().map(move |event| (window, *event))) {
            let _ = window.remove_event_listener_with_callback_and_bool(event, hear.as_ref().unchecked_ref(), true);
        }
    }
}

/// Waits until no server-rendered element that will be replaced is being pressed. If an element is replaced while it
/// is pressed, the browser sends no click. Messages stay, so the user can select text in them meanwhile.
pub(crate) async fn released() {
    let is_pressed = || find(&format!("[{DRAWN}]:not(.message):active")).is_some() && find(".message:active").is_none();
    while_true(is_pressed).await;
}

/// Removes the server-rendered conversation, because the page shows another address than the one that it was rendered
/// for. Has no effect once the page is mounted.
pub(crate) fn drop_stale() {
    if let Some(root) = find(&format!("body > [{ATTACHED}]")) {
        let _ = root.set_attribute(STALE, "");
        found(&format!("main > [{DRAWN}]:not(header)")).iter().for_each(Element::remove);
    }
}

fn is_stale(element: &Element) -> bool {
    element.closest(&format!("[{STALE}]")).is_ok_and(|stale| stale.is_some())
}

/// A server-rendered part, until the interactive one replaces it.
pub(crate) struct DrawnPart {
    drawn: Element,
    id: &'static str,
    scrolled: i32,
}

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

fn found(selector: &str) -> Vec<Element> {
    let found = window().ok().and_then(|window| window.document()?.query_selector_all(selector).ok());
    let Some(found) = found else { return Vec::new() };
    (0..found.length()).filter_map(|at| found.item(at)?.dyn_into().ok()).collect()
}

/// Returns the children of an element as a list that does not change when they are removed.
fn children(element: &Element) -> Vec<Element> {
    let children = element.children();
    (0..children.length()).filter_map(|at| children.item(at)).collect()
}

fn focused() -> Option<Element> {
    window().ok()?.document()?.active_element()
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

/// Tells the document's script that more of the page is interactive, so that it presses the buttons there that the user
/// pressed before.
pub(crate) fn replay_presses() {
    announce(ATTACHED_MORE);
}

/// Removes the server-rendered messages that the mounted page has rendered, from the last one up to the first that it
/// has not.
pub(crate) fn replace_stale() {
    for drawn in found(DRAWN_MESSAGES).into_iter().rev() {
        if find(&format!("#{}:not([{DRAWN}])", drawn.id())).is_none() {
            return;
        }
        replace(&drawn);
    }
}

/// Removes a server-rendered element that the page has replaced. A `details` element stays open, and the focus and the
/// text of search fields stay in their places.
fn replace(drawn: &Element) {
    let spot = |element: &Element| drawn.contains(Some(element)).then(|| Spot::of(element, drawn));
    let focused = focused();
    // A link of the list is found by its ID, because the list may have changed.
    let focused_id = focused.as_ref().map(Element::id).filter(|id| !id.is_empty());
    let focused = focused.as_ref().and_then(spot);
    let searched = drawn.query_selector("[type=search]").ok().flatten();
    let searched = searched.and_then(|field| Some((spot(&field)?, field.dyn_into::<HtmlInputElement>().ok()?.value())));
    drawn.remove();
    if drawn.has_attribute(OPEN)
        && let Some(same) = find(&format!("#{}", drawn.id()))
    {
        let _ = same.set_attribute(OPEN, "");
    }
    if let Some(spot) = focused {
        let same = focused_id.and_then(|id| window().ok()?.document()?.get_element_by_id(&id)?.dyn_into().ok());
        if let Some(focused) = same.or_else(|| spot.find()) {
            focus_in_place(&focused);
        }
    }
    if let Some((spot, text)) = searched.filter(|(_, text)| !text.is_empty())
        && let Some(field) = spot.find().and_then(|field| field.dyn_into::<HtmlInputElement>().ok())
    {
        field.set_value(&text);
        let _ = Event::new("input").map(|input| field.dispatch_event(&input));
    }
}

/// Removes all server-rendered messages that are left.
pub(crate) fn remove_stale() {
    found(DRAWN_MESSAGES).iter().for_each(Element::remove);
}

/// Returns the server-rendered element with this ID, for its content or its scroll position. Returns `None` if it does
/// not exist, or no longer, or if it belongs to an address that the user has left.
pub(crate) fn drawn_by_server(id: &str) -> Option<Element> {
    let drawn = || find(&format!("#{id}[{DRAWN}], [{DRAWN}] #{id}")).filter(|drawn| !is_stale(drawn));
    if IS_HERE { drawn() } else { None }
}

/// Returns the elements that match a selector in the server-rendered messages that are not part of the interactive page
/// yet. `id` is the element around the messages.
pub(crate) fn drawn_within(id: &str, selector: &str) -> Vec<Element> {
    if IS_HERE { found(&format!("#{id} > {DRAWN_MESSAGES} {selector}")) } else { Vec::new() }
}

/// Returns `true` if a press in the element with this ID is kept until its part is interactive.
pub(crate) fn is_press_kept(id: &str) -> bool {
    IS_HERE && find(&format!("#{id} [{PRESSED}]")).is_some()
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
