//! The menu that all answers share. It shows the actions of the answer whose button was pressed.

use std::sync::Arc;

use leptos::{ev::MouseEvent, html, prelude::*};
use send_wrapper::SendWrapper;
use tallybook_nodes::{Drawn, Node, update};
use tallybook_protocol::MessageId;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};

use crate::{components::parts::menu, language::use_language, message::MENU_ID};

/// The answer whose actions a menu shows.
#[derive(Clone)]
pub(super) struct MenuOwner {
    pub(super) id: MessageId,
    /// Set to `true` while the menu shows its actions.
    pub(super) is_open: RwSignal<bool>,
    /// Carries out the pressed item.
    pub(super) press: Arc<dyn Fn(&MouseEvent) + Send + Sync>,
}

/// The menu, and the answer whose actions it shows. Provided as a context to the messages.
#[derive(Clone, Copy)]
pub(crate) struct OpenMenu {
    place: NodeRef<html::Div>,
    of: StoredValue<Option<MenuOwner>>,
    items: StoredValue<SendWrapper<Vec<Drawn>>>,
}

impl OpenMenu {
    /// Creates a closed menu.
    pub(crate) fn new() -> Self {
        Self {
            place: NodeRef::new(),
            of: StoredValue::new(None),
            items: StoredValue::new(SendWrapper::new(Vec::new())),
        }
    }

    /// Shows the actions of an answer whose button is being clicked. The browser opens the menu after this event; if it
    /// was open for this answer, the browser closes it.
    pub(super) fn open(self, owner: MenuOwner, items: Vec<Node>, button: &Element) {
        let Some(place) = self.place.get_untracked() else { return };
        if menu::is_open(&place) {
            if self.of.with_value(|of| of.as_ref().is_some_and(|of| of.id == owner.id)) {
                return;
            }
            let _ = place.hide_popover();
        }
        self.forget();
        // Safari does not focus a button that is clicked, and the menu gives the focus back.
        if let Some(button) = button.dyn_ref::<HtmlElement>() {
            let _ = button.focus();
        }
        self.show(items, &place);
        owner.is_open.set(true);
        self.of.set_value(Some(owner));
    }

    fn show(self, items: Vec<Node>, place: &Element) {
        self.items.update_value(|shown| {
            let _ = update(items, shown, place, None);
        });
    }

    /// Removes the items of a menu that was closed.
    fn close(self) {
        self.forget();
        if let Some(place) = self.place.get_untracked() {
            self.show(Vec::new(), &place);
        }
    }

    /// Forgets the answer whose actions were shown. The message may be unmounted by now.
    fn forget(self) {
        if let Some(of) = self.of.try_update_value(Option::take).flatten() {
            of.is_open.try_set(false);
        }
    }

    /// Carries out the pressed item. The menu closes first, so that a dialog gives the focus back to the menu's button.
    fn press(self, event: &MouseEvent) {
        let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
        let is_item =
            target.is_some_and(|target| matches!(target.closest("[data-action]:not([aria-disabled])"), Ok(Some(_))));
        if let (true, Some(of), Some(place)) = (is_item, self.of.get_value(), self.place.get_untracked()) {
            let _ = place.hide_popover();
            (of.press)(event);
        }
    }
}

/// The menu. It is in the log of messages, but is not announced as a part of it.
#[component]
pub(crate) fn MessageMenu(open: OpenMenu) -> impl IntoView {
    let text = use_language();
    view! {
        <div
            class="menu message-menu"
            id=MENU_ID
            role="menu"
            aria-label=text.more_actions()
            aria-live="off"
            popover="auto"
            data-testid="message-menu"
            node_ref=open.place
            on:click=move |event| open.press(&event)
            on:keydown=|event| menu::press(&event)
            on:toggle=move |event| if !menu::toggled(&event) { open.close() }
        ></div>
    }
    .into_any()
}
