//! The message field. It grows with its text, takes files, sends on Enter, and has a Stop button while a turn runs.

pub(crate) mod attachments;
pub(crate) mod file_names;
pub(crate) mod plan_switch;
pub(crate) mod queue;

use leptos::{
    ev::{self, ClipboardEvent, DragEvent, MouseEvent, on},
    html,
    prelude::*,
    tachys::html::{class::class, node_ref::node_ref, property::prop},
    task::spawn_local,
};
use tallybook_protocol::Rights;
use web_sys::{Event, HtmlInputElement};

use crate::{
    browser::{self, TypedEarly},
    components::{
        composer::plan_switch::PlanSwitch,
        lazy::{LazyPart, lazy},
        parts::{
            icon::{Draw, Icon},
            ids::{ATTACH_ID, COMPOSER_FIELD_ID, COMPOSER_FORM_ID, COMPOSER_HINT_ID, COMPOSER_ID, FILES_ID},
            own_element::Attached,
            typing::{edits_last, enter_sends, focus_composer, is_touched, leave_button, sends},
        },
    },
    language::{Language, use_language},
    models::Models,
    mount_schedule::in_place,
    reactive::{effect, memo},
    session::{FilesOf, Phase, Place, Session},
};

/// Attribute of the hint as long as it describes keys.
pub(crate) const OF_KEYS: &str = "data-of-keys";

/// Maximum length of a pasted text that is not offered as a file, in characters.
const LONG_PASTE: usize = 4_000;

/// The message field and its buttons.
#[component]
pub(crate) fn Composer(session: Session) -> impl IntoView {
    let text = use_language();
    let field = NodeRef::<html::Textarea>::new();
    let send = move || session.send_draft();
    let has_files = memo(move |_| session.files.with(|files| !files.is_empty()));
    let has_draft = memo(move |_| has_files.get() || session.draft.with(|draft| !draft.trim().is_empty()));
    let pasted = RwSignal::new(None::<String>);
    let may_upload = use_context::<Rights>().unwrap_or_default().upload;
    take_early_text(session);
    // The user opens a chat to write in it. At the end of an answer, the focus stays where the user reads.
    if !untrack(|| session.is_busy()) {
        focus_composer();
    }
    let is_dropping = RwSignal::new(false);
    take_drops(session, is_dropping, may_upload);
    take_pastes(session, pasted, may_upload);
    let hint = memo(move |_| match () {
        () if is_dropping.get() => Hint::Obstacle(text.drop_here()),
        () if session.is_leaving.get() => Hint::Obstacle(text.send_while_deleting()),
        () if session.phase.get() == Phase::Awaiting => Hint::Obstacle(text.send_after_decision()),
        () if session.place.with(|place| *place == Place::Deleted) => Hint::Obstacle(text.send_after_deletion()),
        // On-screen keyboards label the key with its action.
        () if !enter_sends() => Hint::Keys(""),
        () if session.is_busy() => Hint::Keys(text.composer_hint_busy()),
        () => Hint::Keys(text.composer_hint()),
    });
    let models = expect_context::<Models>();
    let makes_plans = memo(move |_| !models.is_demo());
    let is_of_keys = move || matches!(hint.get(), Hint::Keys(_)).then_some("");
    let content = view! {
        {lazy(move || {
            (has_files.get() || pasted.with(Option::is_some)).then_some(LazyPart::Attachments {
                session,
                of: FilesOf::Draft,
                pasted: Some(pasted),
            })
        })}
        {message_field(session, field)}
        {may_upload.then(|| file_field(session, text))}
        <div class="composer-bar">
            {may_upload.then(|| attach_button(text))}
            {move || makes_plans.get().then(|| view! { <PlanSwitch session /> }.into_any())}
            // `OF_KEYS`
            <span class="composer-hint" id=COMPOSER_HINT_ID data-of-keys=is_of_keys>
                {move || match hint.get() { Hint::Obstacle(words) | Hint::Keys(words) => words }}
            </span>
            <span class="composer-buttons">
                // While an answer is being written, messages are queued.
                {move || (!session.is_busy() || has_draft.get()).then(|| view! { <SendButton session /> })}
                {move || session.is_busy().then(|| view! { <StopButton session /> })}
            </span>
        </div>
    };
    let form = Attached::new("form", COMPOSER_FORM_ID)
        .with(class("composer"))
        .with(class(("dropping", move || is_dropping.get())))
        .with(on(ev::submit, move |event| {
            event.prevent_default();
            send();
            // The clicked button is removed.
            if let Some(field) = field.get_untracked().filter(|_| !is_touched()) {
                let _ = field.focus();
            }
        }));
    form.containing(content)
}

/// Renders the field.
fn message_field(session: Session, field: NodeRef<html::Textarea>) -> AnyView {
    let text = use_language();
    let textarea = Attached::new("textarea", COMPOSER_ID)
        .attr("data-testid", "composer")
        .attr("rows", "1")
        .attr("dir", "auto")
        .attr("enterkeyhint", if enter_sends() { "send" } else { "enter" })
        .attr("autocomplete", "off")
        .attr("aria-label", text.composer_label())
        .attr("aria-describedby", COMPOSER_HINT_ID)
        .attr("placeholder", text.composer_placeholder())
        .with(node_ref(field))
        // Without scripts, typed text is useless. With scripts, the user can type before the page is interactive
        // (`app`).
        .attr("disabled", !browser::IS_HERE)
        .with(prop("value", move || session.draft.get()))
        .with(on(ev::input, move |event| session.write(event_target_value(&event))))
        .with(on(ev::keydown, move |event| {
            if sends(&event) {
                event.prevent_default();
                session.send_draft();
            } else if edits_last(&event) {
                session.edit_last();
            }
        }));
    // The field is over a copy of its text, which sets their height.
    let sized = Attached::new("div", COMPOSER_FIELD_ID)
        .with(class("composer-field"))
        .attr("data-text", move || session.draft.get());
    sized.containing(textarea.empty())
}

/// Adopts the text that the user wrote into the field before the page was interactive.
fn take_early_text(session: Session) {
    let Some(TypedEarly { text, is_sent }) = browser::take_field(COMPOSER_ID) else { return };
    if session.draft.with_untracked(|draft| *draft != text) {
        session.write(text);
    }
    if is_sent {
        spawn_local(async move {
            in_place().await;
            browser::release_field(COMPOSER_ID);
            session.send_draft();
        });
    }
}

/// Renders the button that attaches files.
fn attach_button(text: Language) -> AnyView {
    view! {
        <button
            type="button"
            class="button icon-only quiet"
            id=ATTACH_ID
            data-testid="attach"
            aria-label=text.attach()
            title=text.attach()
            on:click=|_| browser::press(FILES_ID)
        >
            <Draw icon=Icon::Clip />
        </button>
    }
    .into_any()
}

/// Renders the invisible field in which the user chooses files. The server's element stays, because the user may be
/// choosing files when the page becomes interactive.
fn file_field(session: Session, text: Language) -> AnyView {
    let early = browser::chosen_early(FILES_ID);
    if !early.is_empty() {
        spawn_local(async move {
            in_place().await;
            session.attach(FilesOf::Draft, early);
        });
    }
    let field = Attached::new("input", FILES_ID)
        .attr("type", "file")
        .attr("multiple", true)
        .attr("hidden", true)
        .attr("data-testid", "file-input")
        .attr("aria-label", text.attach())
        .with(on(ev::change, move |event| {
            session.attach(FilesOf::Draft, browser::take_files(&event_target::<HtmlInputElement>(&event)));
        }));
    field.empty()
}

/// The line below the field: why a message cannot be sent, or what keys do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hint {
    Obstacle(&'static str),
    Keys(&'static str),
}

/// Adds what the user drops on the page to the message field: text, and files if the user may upload them. Files that
/// are dropped on the form of an edit become files of that edit. The document keeps the browser from opening a file
/// (`app`). `is_dropping` is `true` while the user drags files over the page.
fn take_drops(session: Session, is_dropping: RwSignal<bool>, may_upload: bool) {
    let take = move |event: &DragEvent| -> Option<()> {
        let data = event.data_transfer()?;
        let is_file = data.types().includes(&"Files".into(), 0);
        if is_file && !may_upload {
            if event.type_() == "drop" {
                event.prevent_default();
                session.refuse_files();
            }
            return None;
        }
        if !is_file && browser::is_within(event, "input, textarea") {
            return None;
        }
        event.prevent_default();
        is_dropping.set(is_file && event.type_() != "drop");
        if event.type_() == "drop" {
            let dropped = data.get_data("text/plain").unwrap_or_default();
            if is_file {
                session.attach(files_of(event), browser::listed(data.files()));
            } else {
                session.add_to_draft(&dropped);
            }
        }
        None
    };
    effect(move || {
        let over = window_event_listener(ev::dragover, move |event| {
            take(&event);
        });
        let dropped = window_event_listener(ev::drop, move |event| {
            take(&event);
        });
        // An event without a related element means that the pointer has left the window.
        let left = window_event_listener(ev::dragleave, move |event| {
            if event.related_target().is_none() {
                is_dropping.set(false);
            }
        });
        on_cleanup(move || {
            over.remove();
            dropped.remove();
            left.remove();
        });
    });
}

/// Returns the message that files are added to: the one that is being edited if they are pasted or dropped in its form.
fn files_of(event: &Event) -> FilesOf {
    if browser::is_within(event, ".edit") { FilesOf::Edit } else { FilesOf::Draft }
}

/// Attaches pasted files. What other programs copy as text and image at once is text. Offers to attach a long text as
/// a file. Says so if the user may not upload files.
fn take_pastes(session: Session, long_text: RwSignal<Option<String>>, may_upload: bool) {
    effect(move || {
        let pasted = window_event_listener(ev::paste, move |event: ClipboardEvent| {
            let Some(data) = event.clipboard_data() else { return };
            let has = |kind: &str| data.types().includes(&kind.into(), 0);
            if has("Files") && !has("text/plain") {
                event.prevent_default();
                if may_upload {
                    session.attach(files_of(&event), browser::listed(data.files()));
                } else {
                    session.refuse_files();
                }
            }
            let pasted = data.get_data("text/plain").unwrap_or_default();
            let is_long = browser::has_focus_within(&format!("#{COMPOSER_ID}")) && pasted.chars().count() > LONG_PASTE;
            if may_upload && is_long {
                // A field has these line breaks only.
                long_text.set(Some(pasted.replace("\r\n", "\n").replace('\r', "\n")));
            }
        });
        on_cleanup(move || pasted.remove());
    });
}

#[component]
fn SendButton(session: Session) -> impl IntoView {
    let text = use_language();
    // The reasons why a message cannot be sent.
    let obstacle = memo(move |_| match session.place.get() {
        Place::Deleted => Some(text.send_after_deletion()),
        _ if session.is_leaving.get() => Some(text.send_while_deleting()),
        _ if session.files.with(|files| !files.is_empty()) => None,
        _ => session.draft.with(|draft| draft.trim().is_empty()).then(|| text.send_nothing()),
    });
    let label = move || if session.is_busy() { text.send_later() } else { text.send() };
    view! {
        <button
            type="submit"
            class="button icon-only primary"
            data-testid="send"
            aria-label=label
            title=move || obstacle.get().unwrap_or(label())
            disabled=move || !browser::IS_HERE || obstacle.get().is_some()
        >
            <Draw icon=Icon::ArrowUp />
        </button>
    }
    .into_any()
}

#[component]
fn StopButton(session: Session) -> impl IntoView {
    let text = use_language();
    let label = move || if session.stopping.get() { text.stopping() } else { text.stop() };
    view! {
        <button
            type="button"
            class="button icon-only primary stop"
            data-testid="stop"
            aria-label=label
            title=label
            disabled=move || session.stopping.get()
            on:click=move |event: MouseEvent| {
                // The second click of a double click on Send must not stop the answer.
                if event.detail() < 2 {
                    session.stop();
                    leave_button();
                }
            }
        >
            <Draw icon=Icon::Square />
        </button>
    }
    .into_any()
}
