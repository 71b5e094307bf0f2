//! Shows the files of a message: images as large as the window, documents as the text that the models read. Loaded when
//! a file is opened.

use leptos::{ev::KeyboardEvent, html, prelude::*, task::spawn_local};
use tallybook_protocol::{FileKind, FileText, MessageFile};
use uuid::Uuid;

use crate::{
    api,
    components::parts::{
        commands::has_modifier,
        icon::{Draw, Icon},
    },
    format,
    language::{Language, use_language},
    reactive::{effect, memo},
    session::Loading,
};

/// The files that are shown, and which of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ViewedFiles {
    pub(crate) files: Vec<MessageFile>,
    pub(crate) at: usize,
}

/// The opened viewer. Provided as a context by the pane.
#[derive(Clone, Copy)]
pub(crate) struct FileView(pub(crate) RwSignal<Option<ViewedFiles>>);

/// The viewer, which is opened when it is mounted.
#[component]
pub(crate) fn FileViewer(viewed: ViewedFiles, shown: FileView) -> impl IntoView {
    let text = use_language();
    let place = NodeRef::<html::Dialog>::new();
    effect(move || {
        if let Some(dialog) = place.get() {
            // Fails only if it is already open.
            let _ = dialog.show_modal();
        }
    });
    let count = viewed.files.len();
    let at = RwSignal::new(viewed.at.min(count.saturating_sub(1)));
    let files = StoredValue::new(viewed.files);
    let file = memo(move |_| files.with_value(|files| files.get(at.get()).cloned()));
    let step = move |by: isize| {
        if let Some(next) = at.get_untracked().checked_add_signed(by).filter(|next| *next < count) {
            at.set(next);
        }
    };
    let turn = move |label: &'static str, name: &'static str, by: isize| {
        let is_end = move || at.get().checked_add_signed(by).is_none_or(|next| next >= count);
        view! {
            <button
                type="button"
                class="button icon-only quiet"
                class:backward=by.is_negative()
                data-testid=name
                aria-label=label
                title=label
                disabled=is_end
                on:click=move |_| step(by)
            >
                <Draw icon=Icon::Chevron />
            </button>
        }
        .into_any()
    };
    view! {
        <dialog
            class="sheet file-viewer"
            data-testid="file-viewer"
            aria-labelledby="file-viewer-title"
            closedby="any"
            node_ref=place
            on:close=move |_| shown.0.set(None)
            on:keydown=move |event: KeyboardEvent| match event.key().as_str() {
                // Alt and an arrow go back in the browser's history.
                "ArrowLeft" if !has_modifier(&event) => step(-1),
                "ArrowRight" if !has_modifier(&event) => step(1),
                _ => {}
            }
        >
            <form method="dialog" class="sheet-top">
                <h2 id="file-viewer-title" dir="auto">{move || file.get().map(|file| file.name)}</h2>
                <span class="file-viewer-buttons">
                    {(count > 1).then(|| [
                        turn(text.previous_file(), "previous-file", -1),
                        turn(text.next_file(), "next-file", 1),
                    ])}
                    <button class="button icon-only quiet" aria-label=text.close_file() title=text.close_file()>
                        <Draw icon=Icon::Cross />
                    </button>
                </span>
            </form>
            {move || file.get().map(|file| content(file, text))}
        </dialog>
    }
    .into_any()
}

fn content(file: MessageFile, text: Language) -> AnyView {
    let original = format!("/api/files/{}/content", file.id);
    let received = file.context.as_deref().map(|context| text.file_context(context));
    let details = view! {
        <p class="file-viewer-details">
            <span>{format::size(text, file.bytes)}</span>
            {file.width.zip(file.height).map(|(width, height)| view! { <span>{format!("{width} × {height}")}</span> })}
            {received.map(|received| view! { <span>{text.model_received()} " " {received}</span> })}
            <a href=original.clone() download=file.name.clone() data-testid="original-file">{text.original_file()}</a>
        </p>
    };
    let shown = match file.kind {
        FileKind::Image => image(original, file.name, text),
        FileKind::Document | FileKind::Text if file.lacks_text() => {
            view! { <p class="sheet-note">{text.no_text_in_file()}</p> }.into_any()
        }
        FileKind::Document | FileKind::Text => {
            view! { <DocumentText id=file.id truncated=file.truncated /> }.into_any()
        }
    };
    view! {
        {details}
        {shown}
    }
    .into_any()
}

/// An image that fills the window; a click shows it in its own size. On a touch screen, it is zoomed with two fingers.
fn image(source: String, name: String, text: Language) -> AnyView {
    let is_large = RwSignal::new(false);
    let label = move || if is_large.get() { text.fit_to_window() } else { text.full_size() };
    view! {
        <div class="file-viewer-image" class:large=move || is_large.get()>
            <button
                type="button"
                data-testid="zoom"
                aria-pressed=move || is_large.get().to_string()
                title=label
                on:click=move |_| is_large.update(|large| *large = !*large)
            >
                <img src=source alt=name />
            </button>
        </div>
    }
    .into_any()
}

/// The text of a document, page by page.
#[component]
fn DocumentText(
    id: Uuid,
    /// The file has more text than its pages.
    truncated: bool,
) -> impl IntoView {
    let text = use_language();
    let page = RwSignal::new(1);
    let loaded = RwSignal::new(None::<FileText>);
    let loading = RwSignal::new(Loading::Running);
    let load = move || {
        let wanted = page.get_untracked();
        loading.set(Loading::Running);
        spawn_local(async move {
            let found = api::file_text(id, wanted).await;
            // The viewer may be closed, or another page wanted.
            if page.try_get_untracked() != Some(wanted) {
                return;
            }
            match found {
                Ok(found) => {
                    loaded.set(Some(found));
                    loading.set(Loading::Idle);
                }
                Err(error) => loading.set(Loading::Failed(error.message(text))),
            }
        });
    };
    effect(move || {
        page.track();
        load();
    });
    let pages = memo(move |_| loaded.with(|loaded| loaded.as_ref().map_or(1, |loaded| loaded.pages)));
    let turn = move |label: &'static str, name: &'static str, by: i32| {
        view! {
            <button
                type="button"
                class="button small"
                data-testid=name
                disabled=move || !(1..=pages.get()).contains(&(page.get() + by))
                on:click=move |_| page.update(|page| *page += by)
            >
                {label}
            </button>
        }
        .into_any()
    };
    view! {
        {move || loaded.get().map(|loaded| view! {
            <pre class="file-viewer-text" data-testid="file-text" dir="auto" tabindex="0">{tallybook_nodes::bounded_text(loaded.text)}</pre>
        })}
        {truncated.then(|| view! { <p class="sheet-note" data-testid="text-truncated">{text.text_is_truncated()}</p> })}
        {move || match loading.get() {
            Loading::Failed(why) => Some(view! {
                <p class="failure">{why} " " <button type="button" class="button small" on:click=move |_| load()>{text.retry_upload()}</button></p>
            }.into_any()),
            Loading::Idle | Loading::Running => None,
        }}
        <p class="file-viewer-pages">
            {turn(text.previous_page(), "previous-page", -1)}
            <span role="status">{move || text.page_of(page.get(), pages.get())}</span>
            {turn(text.next_page(), "next-page", 1)}
        </p>
    }
    .into_any()
}
