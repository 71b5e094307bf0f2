//! The user's own message: plain text. Of a long one, only the beginning is shown at first.

use tallybook_nodes::Element;

use super::{
    files::files,
    footer,
    parts::{Slot, article, element, slot},
    view::View,
};

/// Renders a question.
pub(super) fn question(view: View<'_>) -> Element {
    let (entry, text) = (view.entry, view.text);
    if view.is_printed() {
        let heading = element("h2").with("class", "visually-hidden").with_text(text.question());
        let bubble = element("div").with("class", "bubble").with("dir", "auto").with_text(entry.text.as_str());
        let bubble = Some(bubble).filter(|_| !entry.text.is_empty());
        return article(view)
            .with_child(heading)
            .with_child_if_any(files(view, entry.files.iter()))
            .with_child_if_any(bubble);
    }
    let heading = element("h2").with("class", "visually-hidden").with_text(text.you_said());
    let message = article(view).with_child(heading);
    let Some(live) = view.live else { return message };
    if live.is_edited {
        return message.with_child(slot(view, Slot::Edit));
    }
    let footer = live.has_actions.then(|| footer::of_question(view, live));
    let bubble = (!entry.text.is_empty()).then(|| bubble(&entry.text, view, live.is_unfolded));
    message.with_child_if_any(files(view, entry.files.iter())).with_child_if_any(bubble).with_child_if_any(footer)
}

fn bubble(content: &str, view: View<'_>, is_unfolded: bool) -> Element {
    let text = view.text;
    let is_long = is_long(content);
    let fold = is_long.then(|| {
        element("button")
            .with("type", "button")
            .with("class", "button small fold")
            .with("data-testid", "fold")
            .with("data-action", "fold")
            .with("aria-expanded", is_unfolded.to_string())
            .with_text(if is_unfolded { text.show_less() } else { text.show_whole() })
    });
    let class = if is_long && !is_unfolded { "bubble-text folded" } else { "bubble-text" };
    element("div")
        .with("class", "bubble")
        .with("dir", "auto")
        .with_child(element("div").with("class", class).with_text(content))
        .with_child_if_any(fold)
}

/// Returns `true` if a text takes clearly more lines than are shown of it at first. Their width is an estimate, since
/// only a browser knows it.
pub(crate) fn is_long(text: &str) -> bool {
    const LINES: usize = 14;
    const CHARACTERS_A_LINE: usize = 80;
    let lines = text.split('\n').take(LINES + 1).map(|line| line.chars().count() / CHARACTERS_A_LINE + 1);
    lines.sum::<usize>() > LINES
}
