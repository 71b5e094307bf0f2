//! The files of the message field and of a question that is being edited: their uploads, and offers about them. Loaded
//! with the first file, or with the first long text that is pasted.

use leptos::prelude::*;
use web_sys::{File, FilePropertyBag};

use crate::{
    browser,
    components::parts::{
        each::Each,
        icon::{Draw, Icon},
        ids::EDIT_FIELD_ID,
        typing::focus_composer,
    },
    format,
    language::{Language, use_language},
    models::Models,
    reactive::memo,
    session::{AttachedFile, FilesOf, Session, Upload},
};

/// The files above a field.
#[component]
pub(crate) fn Attachments(
    session: Session,
    of: FilesOf,
    /// A long text that was just pasted into the message field.
    pasted: Option<RwSignal<Option<String>>>,
) -> impl IntoView {
    let text = use_language();
    // A file keeps its row during its upload.
    let keys =
        memo(move |_| session.with_files(of, |files| files.iter().map(|file| file.key.clone()).collect::<Vec<_>>()));
    let has_files = memo(move |_| keys.with(|keys| !keys.is_empty()));
    let ended = memo(move |_| session.with_files(of, |files| ended_uploads(files, text)));
    view! {
        <div class="attachments">
            {move || has_files.get().then(|| view! {
                <ul class="file-list" data-testid="attachments" aria-label=text.attached_files()>
                    <Each each=move || keys.get() key=String::clone children=move |key| row(session, of, key, text) />
                </ul>
            })}
            {(of == FilesOf::Draft).then(|| image_notice(session, text))}
            {pasted.map(|pasted| paste_offer(session, pasted, text))}
            <p class="attachments-note" role="status">
                {move || (of == FilesOf::Draft && session.waits_for_files.get()).then(|| text.sends_after_uploads())}
                // The rows show this.
                <span class="visually-hidden">{move || ended.get()}</span>
            </p>
        </div>
    }
    .into_any()
}

fn row(session: Session, of: FilesOf, key: String, text: Language) -> AnyView {
    let own = key.clone();
    let file = memo(move |_| session.with_files(of, |files| files.iter().find(|file| file.key == own).cloned()));
    let (remove_key, retry_key) = (key.clone(), key);
    let remove = move |_| {
        session.remove_file(of, remove_key.clone());
        match of {
            FilesOf::Draft => focus_composer(),
            FilesOf::Edit => {
                browser::focus(EDIT_FIELD_ID);
            }
        }
    };
    let name = memo(move |_| file.with(|file| file.as_ref().map(|file| file.name.clone()).unwrap_or_default()));
    let can_retry = memo(move |_| file.with(|file| failure(file.as_ref()).is_some_and(|(_, can_retry)| can_retry)));
    view! {
        <li class="file-chip" data-testid="attachment" data-state=move || file.with(|file| state_name(file.as_ref()))>
            {move || file.with(|file| thumbnail(file.as_ref()))}
            <span class="file-words">
                <span class="file-name" dir="auto">{move || name.get()}</span>
                <span class="file-note">
                    {move || file.with(|file| note(file.as_ref(), text))}
                </span>
                {move || file.with(|file| progress(file.as_ref())).map(|percent| view! {
                    <progress max="100" value=percent.to_string() aria-label=text.upload_waiting()></progress>
                })}
            </span>
            {move || {
                let key = retry_key.clone();
                can_retry.get().then(|| view! {
                    <button
                        type="button"
                        class="button small"
                        data-testid="retry-upload"
                        on:click=move |_| session.retry_upload(key.clone())
                    >
                        {text.retry_upload()}
                    </button>
                })
            }}
            <button
                type="button"
                class="button icon-only quiet small"
                data-testid="remove-file"
                aria-label=move || name.with(|name| text.remove_file_named(name))
                title=text.remove_file()
                on:click=remove
            >
                <Draw icon=Icon::Cross />
            </button>
        </li>
    }
    .into_any()
}

fn failure(file: Option<&AttachedFile>) -> Option<(&str, bool)> {
    match &file?.upload {
        Upload::Failed { reason, can_retry } => Some((reason, *can_retry)),
        Upload::Waiting | Upload::Running(_) | Upload::Ready(_) => None,
    }
}

fn state_name(file: Option<&AttachedFile>) -> &'static str {
    match file.map(|file| &file.upload) {
        None | Some(Upload::Waiting) => "waiting",
        Some(Upload::Running(_)) => "running",
        Some(Upload::Ready(_)) => "ready",
        Some(Upload::Failed { .. }) => "failed",
    }
}

fn progress(file: Option<&AttachedFile>) -> Option<u8> {
    match file?.upload {
        Upload::Running(percent) => Some(percent),
        Upload::Waiting | Upload::Ready(_) | Upload::Failed { .. } => None,
    }
}

fn note(file: Option<&AttachedFile>, text: Language) -> String {
    let Some(file) = file else { return String::new() };
    let state = match &file.upload {
        Upload::Waiting => Some(text.upload_waiting().to_owned()),
        Upload::Running(percent) => Some(format!("{percent} %")),
        Upload::Ready(stored) if stored.lacks_text() => Some(text.no_text_in_file().to_owned()),
        Upload::Ready(stored) => stored.pages.map(|pages| text.pages(pages)),
        Upload::Failed { reason, .. } => Some(reason.clone()),
    };
    let size = format::size(text, file.bytes);
    match state {
        Some(state) => format!("{size} · {state}"),
        None => size,
    }
}

/// Returns the announcement of the uploads that have ended.
fn ended_uploads(files: &[AttachedFile], text: Language) -> String {
    let stored = files.iter().filter(|file| file.ready().is_some()).count();
    let failed = files.iter().filter(|file| failure(Some(*file)).is_some());
    text.uploads_ended(stored, &failed.map(|file| file.name.as_str()).collect::<Vec<_>>())
}

fn thumbnail(file: Option<&AttachedFile>) -> AnyView {
    match file.and_then(|file| file.ready()).filter(|_| file.is_some_and(AttachedFile::is_image)) {
        // The name beside it says what it is.
        Some(image) => {
            let source = format!("/api/files/{}/content?variant=thumb", image.id);
            view! { <img class="file-thumb" src=source alt="" /> }.into_any()
        }
        None => view! { <span class="file-icon"><Draw icon=Icon::Page /></span> }.into_any(),
    }
}

/// Warns that the chosen model reads no images, and offers one that does.
fn image_notice(session: Session, text: Language) -> impl Fn() -> Option<AnyView> {
    let models = expect_context::<Models>();
    let has_image = memo(move |_| session.files.with(|files| files.iter().any(AttachedFile::is_image)));
    let chosen = memo(move |_| {
        let next = session.next.with(|(model, _)| model.clone());
        next.or_else(|| models.chosen(session.conversation())).unwrap_or_else(|| models.default_name())
    });
    move || {
        let name = chosen.get();
        if !has_image.get() || models.may_read_images(&name) {
            return None;
        }
        let offer = models.that_reads_images().map(|other| {
            let label = text.use_model_instead(&other);
            view! {
                <button
                    type="button"
                    class="button small"
                    data-testid="use-vision-model"
                    on:click=move |_| session.choose_next(Some(other.clone()))
                >
                    {label}
                </button>
            }
        });
        Some(
            view! {
                <p class="attachments-offer" role="status" data-testid="no-images">{text.reads_no_images(&name)} " " {offer}</p>
            }
            .into_any(),
        )
    }
}

/// Offers to turn a long pasted text into a file.
fn paste_offer(session: Session, pasted: RwSignal<Option<String>>, text: Language) -> impl Fn() -> Option<AnyView> {
    // Once the text was changed, it is no longer known what was pasted.
    let is_offered = memo(move |_| {
        pasted.with(|pasted| {
            pasted.as_ref().is_some_and(|pasted| session.draft.with(|draft| draft.contains(pasted.as_str())))
        })
    });
    let attach = move |_| {
        let Some(content) = pasted.get_untracked() else { return };
        pasted.set(None);
        if let Some(file) = text_file(text.pasted_file_name(), &content) {
            session.write(session.draft.get_untracked().replacen(&content, "", 1));
            session.attach(FilesOf::Draft, vec![file]);
        }
        focus_composer();
    };
    move || {
        is_offered.get().then(|| {
            view! {
                <p class="attachments-offer" role="status" data-testid="paste-offer">
                    {text.paste_is_long()}
                    " "
                    <button type="button" class="button small" data-testid="attach-paste" on:click=attach>
                        {text.attach_paste()}
                    </button>
                    <button type="button" class="button quiet small" on:click=move |_| pasted.set(None)>
                        {text.keep_paste()}
                    </button>
                </p>
            }
            .into_any()
        })
    }
}

/// Creates a file with a text. Returns `None` if the browser cannot.
fn text_file(name: &str, content: &str) -> Option<File> {
    let options = FilePropertyBag::new();
    options.set_type("text/plain");
    File::new_with_str_sequence_and_options(&js_sys::Array::of1(&content.into()), name, &options).ok()
}
