//! The menu of an answer: actions that do not fit in the message footer. Rendered when opened.

use tallybook_nodes::{Element, Node};
use tallybook_protocol::{MessageId, MessageStatus, Rating};

use super::{
    parts::{self, element, span},
    view::View,
};
use crate::{components::parts::icon::Icon, goal::element_id, language::Language, transcript::Entry};

/// ID of the menu, which all answers share.
pub(crate) const MENU_ID: &str = "message-menu";

/// Returns the ID of the button that opens the menu of a message.
pub(crate) fn button_id(message: MessageId) -> String {
    format!("{}-more", element_id(message))
}

/// Renders the items of the menu. While a turn runs, some are disabled, with a tooltip that says why.
pub(crate) fn menu_items(view: View<'_>, is_busy: bool) -> Vec<Node> {
    let (entry, text) = (view.entry, view.text);
    let when_idle = |name, icon, label| {
        let item = item(name, icon, label);
        if is_busy { item.with("aria-disabled", "true").with("title", text.wait_for_answer()) } else { item }
    };
    let mut items = vec![item("copy-link", Icon::Link, text.copy_link())];
    if entry.status == MessageStatus::Complete {
        items.push(item("fork", Icon::Plus, text.fork()));
    }
    if entry.calls().next().is_some() {
        items.push(when_idle("explain", Icon::Speech, text.explain()));
    }
    items.push(when_idle("play-again", Icon::Play, text.replay()));
    if can_be_rated(entry) {
        items.push(element("hr"));
        items.extend([Rating::Up, Rating::Down].map(|rating| {
            let (name, label) = rating_action(rating, text);
            let is_given = entry.feedback.as_ref().is_some_and(|given| given.rating == rating);
            button("menuitemcheckbox", name, Icon::Thumb)
                .with("class", "button quiet")
                .with("aria-checked", if is_given { "true" } else { "false" })
                .with_text(label)
        }));
    }
    if let Some(usage) = entry.usage {
        // Wide windows show it in the message footer.
        items.push(element("hr").with("class", "narrow-only"));
        items.push(
            button("menuitem", "usage", Icon::Tally)
                .with("class", "button quiet narrow-only")
                .with("title", text.usage_show())
                .with_child(span("menu-usage", text.usage(usage))),
        );
    }
    items.into_iter().map(Node::from).collect()
}

/// Returns `true` if there is an answer to rate: one that has ended, and that has text if it ended early.
pub(super) fn can_be_rated(entry: &Entry) -> bool {
    match entry.status {
        MessageStatus::Complete => true,
        MessageStatus::Stopped | MessageStatus::Interrupted | MessageStatus::Failed => !entry.text.is_empty(),
        _ => false,
    }
}

/// Returns the action that gives or removes a rating, and its label.
pub(super) fn rating_action(rating: Rating, text: Language) -> (&'static str, &'static str) {
    match rating {
        Rating::Up => ("rate-up", text.good_answer()),
        Rating::Down => ("rate-down", text.bad_answer()),
    }
}

fn item(name: &'static str, icon: Icon, label: &'static str) -> Element {
    button("menuitem", name, icon).with("class", "button quiet").with_text(label)
}

fn button(role: &'static str, name: &'static str, icon: Icon) -> Element {
    element("button")
        .with("type", "button")
        .with("role", role)
        .with("tabindex", "-1")
        .with("data-testid", name)
        .with("data-action", name)
        .with_child(parts::icon(icon))
}
