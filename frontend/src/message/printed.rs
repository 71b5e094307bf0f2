//! Messages on a page without scripts: as much of each text as fits on such a page, with tool calls and reasoning as
//! `details`.
#![cfg_attr(not(feature = "ssr"), allow(dead_code, reason = "only the server writes such pages"))]

use tallybook_nodes::{Element, Node, write_html_with};
use tallybook_protocol::Role;

use super::{
    call_content::CallTextPart,
    calls,
    html::write_prose,
    parts::{Stretches, element, paragraph, span},
    render::render,
    view::View,
};
use crate::{
    format,
    invisible::{Found, ShownPart, shown},
    language::Language,
    transcript::{Call, CallText, Item, ReasoningPart},
};

/// Maximum characters of each text. Such a page has no way to show more.
const MAX_CHARS: usize = 20_000;

/// Maximum bytes of HTML of the messages on a page. The part that reaches it is still written.
const MAX_PAGE_BYTES: usize = 8 * 1024 * 1024;

/// The room for HTML that is left on a page.
#[derive(Debug)]
pub(crate) struct PageLimit {
    left: usize,
    is_exceeded: bool,
}

impl Default for PageLimit {
    fn default() -> Self {
        Self { left: MAX_PAGE_BYTES, is_exceeded: false }
    }
}

impl PageLimit {
    /// Returns `true` if something was left out.
    pub(crate) fn is_exceeded(&self) -> bool {
        self.is_exceeded
    }

    /// Writes a part unless the page is full.
    fn write(&mut self, html: &mut String, part: impl FnOnce(&mut String)) {
        if self.left == 0 {
            self.is_exceeded = true;
            return;
        }
        let before = html.len();
        part(html);
        self.left = self.left.saturating_sub(html.len() - before);
    }
}

/// Writes a message of a page without scripts, up to the remaining room.
pub(crate) fn write_printed(view: View<'_>, room: &mut PageLimit, html: &mut String) {
    if room.left == 0 {
        room.is_exceeded = true;
        return;
    }
    let stretches = Stretches::of(view.entry);
    let mut fill = |place: &Element, html: &mut String| {
        let id = place.attribute("id").unwrap_or_default();
        room.write(html, |html| {
            if let Some(content) = content(view, id) {
                write_html_with(&content, html, &mut |_, _| {});
            } else {
                write_prose(view, &stretches, id, html);
            }
        });
    };
    let article = Node::from(render(view));
    let before = html.len();
    write_html_with(&[article], html, &mut fill);
    // Questions have no slots.
    if view.entry.role == Role::User {
        room.left = room.left.saturating_sub(html.len() - before);
    }
}

/// Renders what is in the place with this ID; `None` if it is not the place of a call or reasoning.
pub(super) fn content(view: View<'_>, id: &str) -> Option<Vec<Node>> {
    let item = view.entry.items.iter().find(|item| calls::element_id(item.key()) == id)?;
    Some(match item {
        Item::Call(call) => render_call(view, call),
        Item::Reasoning(part) => render_reasoning(view, part),
    })
}

fn render_reasoning(view: View<'_>, part: &ReasoningPart) -> Vec<Node> {
    let text = view.text;
    let (beginning, is_cut) = format::beginning(&part.content.text, MAX_CHARS);
    let is_cut = is_cut || part.content.truncated;
    let line = element("summary")
        .with("class", "tool-line")
        .with_child(element("span").with("class", "tool-status").with_child(calls::reasoning_icon(part)))
        .with_child(span("reasoning-heading", calls::reasoning_heading(part, text)));
    let words = element("div")
        .with("class", "reasoning-words")
        .with("dir", "auto")
        .with_child(element("pre").with("tabindex", "0").with_children(visible(beginning, text)))
        .with_child_if_any(is_cut.then(|| paragraph("tool-note", text.shared_beginning())));
    vec![line.into(), words.into()]
}

fn render_call(view: View<'_>, call: &Call) -> Vec<Node> {
    let mut details = element("div").with("class", "tool-details");
    for part in CallTextPart::ALL {
        if let Some(content) = part.of(call) {
            let class = (part == CallTextPart::Error).then_some("tool-error-heading");
            let heading = element("h3").with_some("class", class).with_text(part.heading(Some(call), view.text));
            details = details.with_child(element("div").with("class", "tool-part").with_child(heading));
            details.children.extend(render_part(view, part, content));
        }
    }
    vec![calls::call_line(view, call, 0).into(), details.into()]
}

fn render_part(view: View<'_>, part: CallTextPart, content: &CallText) -> Vec<Node> {
    let text = view.text;
    let words = part.readable(&content.text);
    let (beginning, is_cut) = format::beginning(&words, MAX_CHARS);
    let warning = Found::of(&words).warning(text).map(|warning| {
        paragraph("code-point-warning", warning).with("role", "note").with("data-testid", "hidden-characters")
    });
    let pre = element("pre").with("tabindex", "0").with_children(visible(beginning, text));
    let note = (is_cut || !content.is_whole()).then(|| paragraph("tool-note", text.shared_beginning()));
    let place = element("div").with("class", "tool-text").with_child(pre);
    warning.into_iter().chain([place]).chain(note).map(Node::from).collect()
}

/// Renders a text with marks in the place of what cannot be seen, for an element that keeps line breaks.
fn visible(content: &str, language: Language) -> Vec<Node> {
    let place = shown(content, language).into_iter().fold(element("span"), |place, part| match part {
        ShownPart::Text(words) => place.with_text(words),
        ShownPart::Mark(mark) => place.with_child(span("code-point", mark)),
    });
    place.children
}

#[cfg(test)]
mod tests {
    use super::{MAX_PAGE_BYTES, PageLimit};

    #[test]
    fn a_page_takes_parts_until_it_is_full() {
        let (mut room, mut html) = (PageLimit::default(), String::new());
        let part = "x".repeat(MAX_PAGE_BYTES - 1);
        room.write(&mut html, |html| html.push_str(&part));
        room.write(&mut html, |html| html.push_str("xx"));
        assert!(!room.is_exceeded(), "all of it is shown");
        room.write(&mut html, |html| html.push_str("left out"));
        assert!(room.is_exceeded() && html.len() == MAX_PAGE_BYTES + 1);
    }
}
