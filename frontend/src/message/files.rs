//! Files in messages, those of a user and those that tools returned: thumbnails of images, and lines for documents. A
//! press opens the viewer.

use tallybook_nodes::Element;
use tallybook_protocol::{FileKind, MessageFile};

use super::{
    parts::{element, foreign, icon, span},
    view::View,
};
use crate::{components::parts::icon::Icon, format};

/// The context of a file of which the model received only the name.
const NAME_ONLY: &str = "name only";

/// Longest side of a shown thumbnail, in CSS pixels.
const THUMBNAIL_SIDE: i32 = 240;

/// Renders files; `None` if there are none.
pub(super) fn files<'a>(view: View<'_>, files: impl Iterator<Item = &'a MessageFile>) -> Option<Element> {
    let mut files = files.peekable();
    files.peek()?;
    let list = element("ul").with("class", "message-files").with("aria-label", view.text.attached_files());
    Some(files.fold(list, |list, file| {
        list.with_child(element("li").with_child(file_opener(view, file).with_child(shown(view, file))))
    }))
}

/// Creates the button that opens a file. Without scripts, it is a link to the original.
fn file_opener(view: View<'_>, file: &MessageFile) -> Element {
    let class = if file.kind == FileKind::Image { "file-image" } else { "file-chip" };
    if view.is_printed() {
        return element("a").with("class", class).with("href", format!("{}/{}/content", view.files, file.id));
    }
    element("button")
        .with("type", "button")
        .with("class", class)
        .with("data-testid", "message-file")
        .with("data-action", "view-file")
        .with("data-key", file.id.to_string())
        .with_some("title", file.context.as_deref().map(|context| view.text.file_context(context)))
}

fn shown(view: View<'_>, file: &MessageFile) -> Element {
    if file.kind == FileKind::Image {
        let (width, height) = fitting(file.width.unwrap_or(1), file.height.unwrap_or(1));
        let image = element("img")
            .with("src", format!("{}/{}/content?variant=thumb", view.files, file.id))
            .with("alt", file.name.clone())
            .with("width", width.to_string())
            .with("height", height.to_string())
            .with("loading", "lazy");
        let note = file.context.as_deref().filter(|context| *context == NAME_ONLY);
        return match note {
            Some(context) => element("span")
                .with("class", "file-caption")
                .with_child(image)
                .with_child(span("file-note", view.text.file_context(context))),
            None => image,
        };
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
