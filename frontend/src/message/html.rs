//! Messages of the page as HTML, which the server writes. Messages come from models, and a few bytes of a message can
//! become hundreds of bytes of HTML, so the size is bounded.

use tallybook_nodes::write_html_with;

use super::{
    parts::{Slot, Stretches, paragraph},
    render::render,
    view::View,
};
use crate::language::Language;

/// Maximum bytes of HTML of a message on the page. The browser renders the rest.
const MAX_MESSAGE_BYTES: usize = 16 * 1024 * 1024;

/// Writes a message of the page. `near` is how far the message is from the newest one, for the style; `fill` writes
/// what is mounted in a slot.
pub(crate) fn write_html(
    view: View<'_>,
    near: Option<&'static str>,
    html: &mut String,
    fill: &mut dyn FnMut(Slot) -> String,
) {
    let stretches = Stretches::of(view.entry);
    let article = render(view).with_some("data-measured", near);
    write_html_with(&[article.into()], html, &mut |place, html| {
        let id = place.attribute("id").unwrap_or_default();
        if let Some(slot) = Slot::of_element(id) {
            html.push_str(&fill(slot));
        } else if html.len() < MAX_MESSAGE_BYTES {
            write_prose(view, &stretches, id, html);
        } else {
            write_left_out(view.text, html);
        }
    });
}

/// Writes the Markdown that belongs in the place with this ID.
pub(super) fn write_prose(view: View<'_>, stretches: &Stretches<'_>, id: &str, html: &mut String) {
    if let Some(prose) = stretches.find(id) {
        tallybook_markdown::write_html(prose.text, id, &view.text.markdown_labels(), html);
    }
}

fn write_left_out(text: Language, html: &mut String) {
    let notice = paragraph("note", text.text_left_out());
    write_html_with(&[notice.into()], html, &mut |_, _| {});
}
