//! The form in which a user edits one of their messages, in the message's place. Enter sends it as another version, Esc
//! cancels.

use leptos::{
    ev::{KeyboardEvent, SubmitEvent},
    html,
    prelude::*,
};
use tallybook_protocol::{MessageId, Rights};

use crate::{
    browser,
    components::{
        message::shown::EditedFiles,
        parts::{
            commands::escapes,
            icon::{Draw, Icon},
            ids::{COMPOSER_ID, EDIT_FIELD_ID},
            typing::{focus_composer, sends},
        },
    },
    language::{Language, use_language},
    mount_schedule::in_next_frame,
    reactive::{effect, memo},
    session::{AttachedFile, FilesOf, Phase, Session},
};

/// The field in the message's place.
#[component]
pub(crate) fn EditForm(id: MessageId, session: Session) -> impl IntoView {
    let text = use_language();
    let field = NodeRef::<html::Textarea>::new();
    // Kept with the session, so that it is there again after a reload.
    let draft = memo(move |_| {
        session.edited.with(|edited| edited.as_ref().map(|edited| edited.text.clone()).unwrap_or_default())
    });
    let has_files = memo(move |_| session.with_files(FilesOf::Edit, |files| !files.is_empty()));
    let is_uploading =
        memo(move |_| session.with_files(FilesOf::Edit, |files| files.iter().any(AttachedFile::is_uploading)));
    let may_upload = use_context::<Rights>().unwrap_or_default().upload;
    let is_blank = move || draft.with(|draft| draft.trim().is_empty()) && !has_files.get();
    effect(move || {
        if let Some(field) = field.get() {
            in_next_frame(move || {
                let _ = field.focus();
                let end = u32::try_from(field.value().encode_utf16().count()).unwrap_or(u32::MAX);
                let _ = field.set_selection_range(end, end);
            });
        }
    });
    // Why it cannot be sent now.
    let why_not = memo(move |_| match session.phase.get() {
        Phase::Idle => is_uploading.get().then(|| text.wait_for_uploads()),
        Phase::Awaiting => Some(text.decide_first()),
        _ => Some(text.wait_for_answer()),
    });
    // The field is gone. What the user types next goes into the message field.
    on_cleanup(focus_composer);
    let send = move || session.edit(id, draft.get_untracked());
    let cancel = move || {
        let is_from_field =
            session.edited.with_untracked(|edited| edited.as_ref().is_some_and(|edited| edited.is_from_field));
        session.begin_edit(None);
        // The form is removed. The focus returns to the element that opened it.
        in_next_frame(move || {
            if is_from_field {
                browser::focus(COMPOSER_ID);
            } else {
                browser::focus(&format!("message-{id} [data-testid=edit]"));
            }
        });
    };
    view! {
        <form
            class="edit composer"
            on:submit=move |event: SubmitEvent| {
                event.prevent_default();
                send();
            }
        >
            {use_context::<EditedFiles>().map(|EditedFiles(draw)| draw.run(session))}
            <div class="composer-field" data-text=move || draft.get()>
                <textarea
                    id=EDIT_FIELD_ID
                    data-testid="edit-field"
                    rows="1"
                    dir="auto"
                    autocomplete="off"
                    aria-label=text.edit_label()
                    node_ref=field
                    prop:value=move || draft.get()
                    on:input:target=move |event| session.write_edit(event.target().value())
                    on:keydown=move |event: KeyboardEvent| {
                        if sends(&event) {
                            event.prevent_default();
                            send();
                        } else if escapes(&event) {
                            event.stop_propagation();
                            cancel();
                        }
                    }
                ></textarea>
            </div>
            <div class="composer-bar">
                {may_upload.then(|| attach_button(session, text))}
                <span class="composer-hint" role="status">
                    {move || why_not.get().unwrap_or_else(|| text.edit_hint())}
                </span>
                <span class="edit-buttons">
                    <button type="button" class="button small" data-testid="edit-cancel" on:click=move |_| cancel()>
                        {text.cancel()}
                    </button>
                    <button
                        type="submit"
                        class="button small primary"
                        data-testid="edit-send"
                        title=move || why_not.get()
                        disabled=move || why_not.get().is_some() || is_blank()
                    >
                        {text.send()}
                    </button>
                </span>
            </div>
        </form>
    }
    .into_any()
}

/// Renders the button that attaches files to the changed message.
fn attach_button(session: Session, text: Language) -> AnyView {
    let file_input = NodeRef::<html::Input>::new();
    view! {
        <button
            type="button"
            class="button icon-only quiet"
            data-testid="edit-attach"
            aria-label=text.attach()
            title=text.attach()
            on:click=move |_| if let Some(input) = file_input.get_untracked() { input.click() }
        >
            <Draw icon=Icon::Clip />
        </button>
        <input
            type="file"
            multiple
            hidden
            data-testid="edit-file-input"
            aria-label=text.attach()
            node_ref=file_input
            on:change:target=move |event| session.attach(FilesOf::Edit, browser::take_files(&event.target()))
        />
    }
    .into_any()
}
