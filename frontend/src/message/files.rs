//! The files of a question: thumbnails of images, and lines for documents. A press opens the viewer.

use tallybook_nodes::Element;
use tallybook_protocol::{FileKind, MessageFile};

use super::{
    parts::{element, foreign, icon, span},
    view::View,
};
use crate::{components::icon::Icon, format};

/// Longest side of a shown thumbnail, in CSS pixels.
const THUMBNAIL_SIDE: i32 = 240;

/// Renders the files of a message; `None` if it has none.
pub(super) fn files(view: View<'_>) -> Option<Element> {
    let files = &view.entry.files;
    if files.is_empty() {
        return None;
    }
    let list = element("ul").with("class", "message-files").with("aria-label", view.text.attached_files());
    Some(files.iter().enumerate().fold(list, |list, (at, file)| {
        list.with_child(element("li").with_child(opener(view, at, file).with_child(shown(view, file))))
    }))
}

/// Creates the button that opens a file. Without scripts, it is a link to the original.
fn opener(view: View<'_>, at: usize, file: &MessageFile) -> Element {
    let class = if file.kind == FileKind::Image { "file-image" } else { "file-chip" };
    if view.is_printed() {
        return element("a").with("class", class).with("href", format!("/api/files/{}/content", file.id));
    }
    element("button")
        .with("type", "button")
        .with("class", class)
        .with("data-testid", "message-file")
        .with("data-action", "view-file")
        .with("data-key", at.to_string())
        .with_some("title", file.context.as_deref().map(|context| view.text.file_context(context)))
}

fn shown(view: View<'_>, file: &MessageFile) -> Element {
    if file.kind == FileKind::Image {
        let (width, height) = fitting(file.width.unwrap_or(1), file.height.unwrap_or(1));
        return element("img")
            .with("src", format!("/api/files/{}/content?variant=thumb", file.id))
            .with("alt", file.name.clone())
            .with("width", width.to_string())
            .with("height", height.to_string())
            .with("loading", "lazy");
    }
    let size = format::size(view.text, file.bytes);
    let note = match (&file.context, file.pages) {
        (Some(context), _) => format!("{size} · {}", view.text.file_context(context)),
        (None, Some(pages)) if pages > 0 => format!("{size} · {}", view.text.pages(pages)),
        (None, _) => size,
    };
    let words = element("span")
        .with("class", "file-words")
        .with_child(foreign(file.name.clone()).with("class", "file-name"))
        .with_child(span("file-note", note));
    element("span").with("class", "file-line").with_child(icon(Icon::Page)).with_child(words)
}

/// Returns the size in which an image of this size is shown.
fn fitting(width: i32, height: i32) -> (i32, i32) {
    let (width, height) = (i64::from(width.max(1)), i64::from(height.max(1)));
    let longest = width.max(height).max(i64::from(THUMBNAIL_SIDE));
    let fit = |side: i64| i32::try_from((side * i64::from(THUMBNAIL_SIDE) / longest).max(1)).unwrap_or(1);
    (fit(width), fit(height))
}
