//! Client-side navigation: parses the page's addresses, and moves between them without reloading the page.
//!
//! One page serves all three kinds of address, so no general router is needed. A router for arbitrary routes would
//! add a tenth to the download.

use leptos::{
    ev::{self, MouseEvent},
    prelude::*,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Element, HtmlAnchorElement};

use crate::{
    goal::{Goal, Reading, permalink},
    reactive::effect,
    scroll,
};

/// A place in the page that an address names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Address {
    NewChat,
    Conversation(Uuid),
    /// The settings of the page and of the account.
    Settings,
    /// A conversation address whose ID is not a valid UUID.
    Malformed,
}

impl Address {
    /// Parses the path of an address. Returns `None` if the page has no such address.
    pub(crate) fn parse(pathname: &str) -> Option<Self> {
        match pathname.trim_matches('/') {
            "" => Some(Self::NewChat),
            "settings" => Some(Self::Settings),
            path => {
                let name = path.strip_prefix("c/")?;
                Some(Uuid::try_parse(name).map_or(Self::Malformed, Self::Conversation))
            }
        }
    }

    /// Returns the address in the browser's address bar; `None` if the page has no such address.
    pub(crate) fn shown() -> Option<Self> {
        Self::parse(&window().location().pathname().ok()?)
    }

    /// Returns the UUID of the conversation that the address names.
    pub(crate) fn uuid(self) -> Option<Uuid> {
        match self {
            Self::Conversation(uuid) => Some(uuid),
            Self::NewChat | Self::Settings | Self::Malformed => None,
        }
    }

    /// Returns the path of the address.
    pub(crate) fn pathname(self) -> String {
        match self {
            Self::Conversation(uuid) => format!("/c/{uuid}"),
            Self::Settings => "/settings".to_owned(),
            Self::NewChat | Self::Malformed => "/".to_owned(),
        }
    }
}

/// Maximum number of conversations whose reading positions are kept.
const MAX_READINGS: usize = 100;

/// The state of the navigation: the address that the page shows, and the message to go to.
#[derive(Clone, Copy)]
pub(crate) struct Navigation {
    address: RwSignal<Address>,
    goal: RwSignal<Option<Goal>>,
    /// Reading positions of the conversations that the user left, the last one at the end. The browser's Back button
    /// returns to them.
    readings: StoredValue<Vec<(Uuid, Reading)>>,
}

impl Navigation {
    /// Starts at `address`, and follows links and the browser's Back and Forward buttons until the component is
    /// removed. After each link that is followed, `followed` receives the new address, and `true` if the link was
    /// activated with the keyboard.
    pub(crate) fn new(address: Address, followed: fn(Address, bool)) -> Self {
        let navigation =
            Self { address: RwSignal::new(address), goal: RwSignal::new(None), readings: StoredValue::default() };
        // Effects run only in the browser.
        effect(move || {
            navigation.aim();
            let clicked = window_event_listener(ev::click, move |event| navigation.follow_link(&event, followed));
            let moved = window_event_listener(ev::popstate, move |_| {
                if let Some(address) = Address::shown() {
                    navigation.show_again(address);
                }
            });
            on_cleanup(move || {
                clicked.remove();
                moved.remove();
            });
        });
        navigation
    }

    /// Returns the current address. Tracked.
    pub(crate) fn get(self) -> Address {
        self.address.get()
    }

    /// Returns the current address. Not tracked.
    pub(crate) fn get_untracked(self) -> Address {
        self.address.get_untracked()
    }

    /// Returns the message to go to. The signal fires each time the user goes to it. Tracked.
    pub(crate) fn goal(self) -> Option<Goal> {
        self.goal.get()
    }

    /// Goes to `address`, and adds it to the browser's history.
    pub(crate) fn go(self, address: Address) {
        if address != self.get_untracked() && record(&address.pathname(), false) {
            self.show(address);
        }
    }

    /// Goes to a message, and adds its address to the browser's history.
    pub(crate) fn go_to(self, goal: Goal) {
        if record(&permalink(goal.conversation, goal.message), false) {
            self.show(Address::Conversation(goal.conversation));
            self.goal.set(Some(goal));
        }
    }

    /// Opens a section of the settings, which the fragment of the address names, and adds its address to the
    /// browser's history.
    pub(crate) fn go_to_setting(self, heading_id: &str) {
        if record(&format!("{}#{heading_id}", Address::Settings.pathname()), false) {
            self.show(Address::Settings);
        }
    }

    /// Goes to `address`, and replaces the current entry of the browser's history.
    pub(crate) fn replace(self, address: Address) {
        if record(&address.pathname(), true) {
            self.show(address);
        }
    }

    fn show(self, address: Address) {
        if self.address.try_get_untracked().is_some_and(|shown| shown != address) {
            self.keep_reading();
            self.goal.set(None);
            self.address.set(address);
        }
    }

    /// Shows an address that the browser went back or forward to. A conversation returns to its reading position.
    fn show_again(self, address: Address) {
        let is_left = address != self.get_untracked();
        self.show(address);
        let uuid = address.uuid().filter(|_| is_left);
        let reading = uuid.and_then(|uuid| {
            let find = |readings: &Vec<(Uuid, Reading)>| readings.iter().find(|(read, _)| *read == uuid).copied();
            self.readings.try_with_value(find)?
        });
        match reading {
            Some((uuid, reading)) => self.goal.set(Some(Goal::of_reading(uuid, reading))),
            None => self.aim(),
        }
    }

    /// Stores the reading position of the conversation that the user is about to leave.
    fn keep_reading(self) {
        let Some(uuid) = self.get_untracked().uuid() else { return };
        let reading = scroll::reading();
        self.readings.try_update_value(|readings| {
            readings.retain(|(read, _)| *read != uuid);
            readings.extend(reading.map(|reading| (uuid, reading)));
            let excess = readings.len().saturating_sub(MAX_READINGS);
            readings.drain(..excess);
        });
    }

    /// Sets the goal to the message that the fragment of the browser's address names.
    fn aim(self) {
        let fragment = window().location().hash().unwrap_or_default();
        let uuid = self.address.try_get_untracked().and_then(Address::uuid);
        if let Some(goal) = uuid.and_then(|uuid| Goal::of_fragment(uuid, &fragment)) {
            self.goal.set(Some(goal));
        }
    }

    /// Follows a link within the page; the browser handles all other links.
    fn follow_link(self, event: &MouseEvent, followed: fn(Address, bool)) {
        if let Some(address) = event.target().filter(|_| is_plain(event)).and_then(address_of) {
            event.prevent_default();
            self.go(address);
            // The click count is 0 for a link that is activated with the keyboard.
            followed(address, event.detail() == 0);
        }
    }
}

/// Returns `true` if the page itself may follow a click. It must not if another handler took the click, or if a
/// button or modifier key asks for another tab.
pub(crate) fn is_plain(event: &MouseEvent) -> bool {
    event.button() == 0
        && !event.default_prevented()
        && !(event.ctrl_key() || event.meta_key() || event.shift_key() || event.alt_key())
}

/// Puts `url` into the browser's history. Returns `false` if the browser refuses it.
fn record(url: &str, in_place: bool) -> bool {
    let Ok(history) = window().history() else { return false };
    let recorded = if in_place {
        history.replace_state_with_url(&JsValue::NULL, "", Some(url))
    } else {
        history.push_state_with_url(&JsValue::NULL, "", Some(url))
    };
    recorded.is_ok()
}

/// Returns the address that a click on `target` leads to, if the page can show it without reloading.
fn address_of(target: web_sys::EventTarget) -> Option<Address> {
    let link = target.dyn_into::<Element>().ok()?.closest("a[href]").ok()??;
    let link: HtmlAnchorElement = link.dyn_into().ok()?;
    let is_elsewhere = ["target", "download", "rel"].iter().any(|name| link.has_attribute(name))
        || window().location().origin().ok()? != link.origin()
        || !link.hash().is_empty()
        || !link.search().is_empty();
    if is_elsewhere { None } else { Address::parse(&link.pathname()) }
}

#[cfg(test)]
mod tests {
    use super::{Address, Uuid};

    #[test]
    fn parse_accepts_only_the_addresses_of_the_page() {
        let nil = Uuid::nil();
        let known = Some(Address::Conversation(nil));
        for (path, address) in [
            ("/".to_owned(), Some(Address::NewChat)),
            (String::new(), Some(Address::NewChat)),
            (format!("/c/{nil}"), known),
            (format!("/c/{nil}/"), known),
            ("/settings".to_owned(), Some(Address::Settings)),
            ("/settings/".to_owned(), Some(Address::Settings)),
            ("/c/seven".to_owned(), Some(Address::Malformed)),
            (format!("/c/{nil}/more"), Some(Address::Malformed)),
            ("/c".to_owned(), None),
            ("/elsewhere".to_owned(), None),
        ] {
            assert_eq!(Address::parse(&path), address, "{path}");
        }
    }
}
