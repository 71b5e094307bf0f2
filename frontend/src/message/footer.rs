//! The footer of a message: its versions, the most frequent actions, its time, and for an answer its model and usage.
//! `menu` has the other actions of an answer.

use std::borrow::Cow;

use tallybook_nodes::{Element, Node};
use tallybook_protocol::{Feedback, MessageId, MessageStatus};

use super::{
    menu::{self, MENU_ID, can_be_rated},
    parts::{self, Slot, element, slot, span, time},
    view::{Copied, CopyOutcome, Live, View},
};
use crate::{components::parts::icon::Icon, session::Step, transcript::Entry};

/// Marks buttons that do nothing while a turn runs. The page then says why in their title; they still take the focus.
pub(crate) const ACTION_WHEN_IDLE: &str = "data-when-idle";

/// Renders the footer of an answer. It is empty while the answer is written, so that nothing moves at its end.
pub(super) fn of_answer(view: View<'_>, live: &Live) -> Element {
    let (entry, text) = (view.entry, view.text);
    let footer = element("footer").with("class", "message-footer");
    if entry.is_streaming() {
        return footer;
    }
    // After a failure there is one thing to do.
    let has_failed = entry.status == MessageStatus::Failed && live.recovery.is_some();
    let author = entry.author.as_ref().map(|(provider, model)| {
        if live.has_models {
            slot(view, Slot::Author)
        } else {
            let title = text.model(provider, model);
            span("author", model.as_str()).with("data-testid", "author").with("title", title)
        }
    });
    let usage = entry.usage.map(|usage| {
        if !live.has_actions {
            return span("usage", text.usage(usage)).with("data-testid", "usage");
        }
        element("button")
            .with("type", "button")
            .with("class", "button quiet small usage")
            .with("data-testid", "usage")
            .with("data-action", "usage")
            .with("title", text.usage_show())
            .with_text(text.usage(usage))
    });
    let footer = footer
        .with_child_if_any(live.has_actions.then(|| versions(view)).flatten())
        .with_child_if_any((!entry.text.is_empty()).then(|| copy(view, live, Copied::Answer)));
    let footer = if live.has_actions {
        footer
            .with_child_if_any((!has_failed).then(|| when_idle("regenerate", Icon::Again, text.regenerate())))
            .with_child_if_any(entry.feedback.as_ref().filter(|_| can_be_rated(entry)).map(|given| rating(view, given)))
            .with_child(more(view, live))
    } else {
        footer
    };
    footer.with_child_if_any(author).with_child_if_any(usage).with_child(when(view, live))
}

/// Renders the rating that the user gave, as a button that removes it. Its title has the user's reason.
fn rating(view: View<'_>, given: &Feedback) -> Element {
    let (name, label) = menu::rating_action(given.rating, view.text);
    let title = match &given.reason {
        Some(reason) => format!("{label}: {reason}").into(),
        None => Cow::Borrowed(label),
    };
    titled_button(name, Icon::Thumb, label, title).with("aria-pressed", "true")
}

/// Renders the button that opens the menu. It says when a link was copied, because the menu is closed by then.
fn more(view: View<'_>, live: &Live) -> Element {
    let (icon, label) = copy_label(view, live, Copied::Link, (Icon::Dots, view.text.more_actions()));
    button("more", icon, label)
        .with("id", menu::button_id(view.id))
        .with("popovertarget", MENU_ID)
        .with("aria-haspopup", "menu")
        .with("aria-expanded", if live.is_menu_open { "true" } else { "false" })
}

/// Renders the button that copies something, or says that it did.
fn copy(view: View<'_>, live: &Live, copied: Copied) -> Element {
    let text = view.text;
    let (name, icon, label) = match copied {
        Copied::Answer => ("copy-answer", Icon::Copy, text.copy_answer()),
        Copied::Question => ("copy-question", Icon::Copy, text.copy_question()),
        Copied::Link => ("copy-link", Icon::Link, text.copy_link()),
    };
    let (icon, label) = copy_label(view, live, copied, (icon, label));
    button(name, icon, label)
}

/// Returns the icon and the label of a button that copies something: whether it just did, or else `before`.
fn copy_label(view: View<'_>, live: &Live, copied: Copied, before: (Icon, &'static str)) -> (Icon, &'static str) {
    match live.copied.filter(|outcome| outcome.copied == copied) {
        Some(CopyOutcome { is_done: true, .. }) => (Icon::Check, view.text.copied()),
        Some(CopyOutcome { is_done: false, .. }) => (Icon::Cross, view.text.copy_again()),
        None => before,
    }
}

/// Renders the footer of the user's own message.
pub(super) fn of_question(view: View<'_>, live: &Live) -> Element {
    let text = view.text;
    element("footer")
        .with("class", "message-footer")
        .with_child(when(view, live))
        .with_child_if_any(versions(view))
        // A message can consist of files alone.
        .with_child_if_any((!view.entry.text.is_empty()).then(|| copy(view, live, Copied::Question)))
        .with_child(copy(view, live, Copied::Link))
        .with_child(when_idle("edit", Icon::Pencil, text.edit()))
}

/// Attribute with the milliseconds since 1970 of a message, from which the browser writes its time.
pub(crate) const MS: &str = "data-ms";

/// Renders when a message was complete, or sent. One that was heard as it happened, happened then.
fn when(view: View<'_>, live: &Live) -> Element {
    let ms = view.entry.at_ms.unwrap_or(live.heard_ms);
    element("span")
        .with("class", "when")
        .with_some(MS, view.entry.at_ms.map(|ms| ms.to_string()))
        .with_child_if_any(time(view, ms))
}

fn button(name: &'static str, icon: Icon, label: &'static str) -> Element {
    titled_button(name, icon, label, label)
}

fn titled_button(name: &'static str, icon: Icon, label: &'static str, title: impl Into<Cow<'static, str>>) -> Element {
    element("button")
        .with("type", "button")
        .with("class", "button icon-only quiet small")
        .with("data-testid", name)
        .with("data-action", name)
        .with("aria-label", label)
        .with("title", title)
        .with_child(parts::icon(icon))
}

fn when_idle(name: &'static str, icon: Icon, label: &'static str) -> Element {
    button(name, icon, label).with(ACTION_WHEN_IDLE, "")
}

/// Renders which of how many versions is shown, and the buttons that lead to the others; `None` if there is one
/// version.
fn versions(view: View<'_>) -> Option<Element> {
    let Entry { id, siblings, .. } = view.entry;
    let at = siblings.iter().position(|sibling| sibling == id)?;
    let text = view.text;
    let step = |step: Step, label: &'static str| version_button(step, label, *id, step.from(at, siblings).is_none());
    let group = element("span")
        .with("class", "versions")
        .with("role", "group")
        .with("aria-label", text.versions())
        .with_child(step(Step::Older, text.older_version()))
        .with_child(element("span").with("data-testid", "version").with_text(format!("{}/{}", at + 1, siblings.len())))
        .with_child(step(Step::Newer, text.newer_version()));
    Some(group)
}

fn version_button(step: Step, label: &'static str, id: MessageId, is_last: bool) -> Node {
    let class = match step {
        Step::Older => "button icon-only quiet small older",
        Step::Newer => "button icon-only quiet small",
    };
    element("button")
        .with("type", "button")
        .with("class", class)
        .with("id", step.button(id))
        .with("data-testid", step.name())
        .with("data-action", step.name())
        .with("aria-label", label)
        .with("title", label)
        .with_mark("disabled", is_last)
        .with(ACTION_WHEN_IDLE, "")
        .with_child(parts::icon(Icon::Chevron))
        .into()
}
