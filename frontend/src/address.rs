//! Where one is: what the page's addresses mean, and going from one to another without loading the page anew.
//!
//! There are three kinds of address, and one page serves them all, so this is all the routing there is; a router for routes of
//! any shape would be a tenth of what a browser has to load.

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

/// What an address of the page names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Address {
    NewChat,
    Conversation(Uuid),
    /// What the reader decides of the page and of the account.
    Settings,
    /// A conversation's address whose name cannot be one.
    Malformed,
}

impl Address {
    /// What `pathname` names; `None` when the page has no such address.
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

    /// What the browser shows.
    pub(crate) fn shown() -> Option<Self> {
        Self::parse(&window().location().pathname().ok()?)
    }

    /// The conversation that it names.
    pub(crate) fn uuid(self) -> Option<Uuid> {
        match self {
            Self::Conversation(uuid) => Some(uuid),
            Self::NewChat | Self::Settings | Self::Malformed => None,
        }
    }

    /// Its path.
    pub(crate) fn pathname(self) -> String {
        match self {
            Self::Conversation(uuid) => format!("/c/{uuid}"),
            Self::Settings => "/settings".to_owned(),
            Self::NewChat | Self::Malformed => "/".to_owned(),
        }
    }
}

/// The most conversations whose reading positions are kept.
const MAX_READINGS: usize = 100;

/// The address that the page shows.
#[derive(Clone, Copy)]
pub(crate) struct Navigation {
    address: RwSignal<Address>,
    goal: RwSignal<Option<Goal>>,
    /// Where conversations were read when they were left, the last one at the end. The browser's Back leads there.
    readings: StoredValue<Vec<(Uuid, Reading)>>,
}

impl Navigation {
    /// Begins at `address`, and follows links and the browser's buttons until the component goes away. `followed` is told
    /// where a link led that was followed, and whether by the keyboard.
    pub(crate) fn new(address: Address, followed: fn(Address, bool)) -> Self {
        let navigation =
            Self { address: RwSignal::new(address), goal: RwSignal::new(None), readings: StoredValue::default() };
        // Effects run in a browser alone.
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

    /// The address that is shown.
    pub(crate) fn get(self) -> Address {
        self.address.get()
    }

    /// The address that is shown, without following it.
    pub(crate) fn get_untracked(self) -> Address {
        self.address.get_untracked()
    }

    /// The message that is to be shown there, as often as somebody goes to it.
    pub(crate) fn goal(self) -> Option<Goal> {
        self.goal.get()
    }

    /// Goes to `address`, with a way back.
    pub(crate) fn go(self, address: Address) {
        if address != self.get_untracked() && record(&address.pathname(), false) {
            self.show(address);
        }
    }

    /// Goes to a message, with a way back.
    pub(crate) fn go_to(self, goal: Goal) {
        if record(&permalink(goal.conversation, goal.message), false) {
            self.show(Address::Conversation(goal.conversation));
            self.goal.set(Some(goal));
        }
    }

    /// Opens a section of the settings, which the fragment of the address names, with a way back.
    pub(crate) fn go_to_setting(self, heading_id: &str) {
        if record(&format!("{}#{heading_id}", Address::Settings.pathname()), false) {
            self.show(Address::Settings);
        }
    }

    /// Goes to `address` in place of the one that is shown.
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

    /// Shows an address that the browser went back or forward to: a conversation where it was read.
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

    /// Keeps where the conversation is read that is about to be left.
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

    /// Takes the message that the browser's address names.
    fn aim(self) {
        let fragment = window().location().hash().unwrap_or_default();
        let uuid = self.address.try_get_untracked().and_then(Address::uuid);
        if let Some(goal) = uuid.and_then(|uuid| Goal::of_fragment(uuid, &fragment)) {
            self.goal.set(Some(goal));
        }
    }

    /// Follows a link within the page; all else is the browser's.
    fn follow_link(self, event: &MouseEvent, followed: fn(Address, bool)) {
        if let Some(address) = event.target().filter(|_| is_plain(event)).and_then(address_of) {
            event.prevent_default();
            self.go(address);
            // The keyboard counts no clicks.
            followed(address, event.detail() == 0);
        }
    }
}

/// Whether a click is to be followed here, and not in another tab or by somebody else.
pub(crate) fn is_plain(event: &MouseEvent) -> bool {
    event.button() == 0
        && !event.default_prevented()
        && !(event.ctrl_key() || event.meta_key() || event.shift_key() || event.alt_key())
}

/// Tells the browser that this is shown now. False when it does not take it.
fn record(url: &str, in_place: bool) -> bool {
    let Ok(history) = window().history() else { return false };
    let recorded = if in_place {
        history.replace_state_with_url(&JsValue::NULL, "", Some(url))
    } else {
        history.push_state_with_url(&JsValue::NULL, "", Some(url))
    };
    recorded.is_ok()
}

/// Where a click on `target` leads, when that is a conversation or the new chat.
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
    fn addresses() {
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
