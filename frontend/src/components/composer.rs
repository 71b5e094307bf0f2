//! The message field: it grows with its text, sends on Enter, and has a button for Stop while a turn runs.

use leptos::{
    ev::{self, ClipboardEvent, DragEvent, KeyboardEvent, MouseEvent, SubmitEvent},
    html,
    prelude::*,
    task::{spawn_local, tick},
};
use wasm_bindgen::JsCast;
use web_sys::Element;

use crate::{
    browser,
    components::{
        commands::is_composing,
        icon::{Draw, Icon},
        ids::{COMPOSER_HINT_ID, COMPOSER_ID},
        plan_switch::PlanSwitch,
    },
    in_turn::in_next_frame,
    language::use_language,
    models::Models,
    reactive::{effect, memo},
    session::{Phase, Place, Session},
};

/// Marks what stands below the field as long as it says what keys do.
pub(crate) const OF_KEYS: &str = "data-of-keys";

/// The message field and its button.
#[component]
pub(crate) fn Composer(session: Session) -> impl IntoView {
    let text = use_language();
    let field = NodeRef::<html::Textarea>::new();
    let send = move || session.send_draft();
    let has_draft = memo(move |_| session.draft.with(|draft| !draft.trim().is_empty()));
    // The user opens a chat to write in it. The end of an answer leaves the focus where the user reads.
    if !untrack(|| session.is_busy()) {
        go_on_writing();
    }
    take_drops(session);
    refuse_pasted_files(session);
    let hint = memo(move |_| match () {
        () if session.is_leaving.get() => Hint::Obstacle(text.send_while_deleting()),
        () if session.phase.get() == Phase::Awaiting => Hint::Obstacle(text.send_after_decision()),
        () if session.place.with(|place| *place == Place::Deleted) => Hint::Obstacle(text.send_after_deletion()),
        // Under a thumb the keyboard says what its key does.
        () if !enter_sends() => Hint::Keys(""),
        () if session.is_busy() => Hint::Keys(text.composer_hint_busy()),
        () => Hint::Keys(text.composer_hint()),
    });
    let makes_plans = !expect_context::<Models>().is_demo();
    let is_of_keys = move || matches!(hint.get(), Hint::Keys(_)).then_some("");
    view! {
        <form
            class="composer"
            on:submit=move |event: SubmitEvent| {
                event.prevent_default();
                send();
                // The button that was pressed makes way.
                if let Some(field) = field.get_untracked().filter(|_| !is_touched()) {
                    let _ = field.focus();
                }
            }
        >
            // The field lies over a copy of its text, which gives both their height.
            <div class="composer-field" data-text=move || session.draft.get()>
                <textarea
                    id=COMPOSER_ID
                    data-testid="composer"
                    rows="1"
                    dir="auto"
                    enterkeyhint=if enter_sends() { "send" } else { "enter" }
                    autocomplete="off"
                    aria-label=text.composer_label()
                    aria-describedby=COMPOSER_HINT_ID
                    placeholder=text.composer_placeholder()
                    node_ref=field
                    // Without scripts nobody takes what is typed. With them one can write before the page is alive (`app`).
                    disabled=!browser::IS_HERE
                    prop:value=move || session.draft.get()
                    on:input:target=move |event| session.write(event.target().value())
                    on:keydown=move |event: KeyboardEvent| {
                        if sends(&event) {
                            event.prevent_default();
                            send();
                        }
                    }
                ></textarea>
            </div>
            <div class="composer-bar">
                {makes_plans.then(|| view! { <PlanSwitch session /> })}
                // `OF_KEYS`
                <span class="composer-hint" id=COMPOSER_HINT_ID data-of-keys=is_of_keys>
                    {move || match hint.get() { Hint::Obstacle(words) | Hint::Keys(words) => words }}
                </span>
                <span class="composer-buttons">
                    // While an answer is written, what is sent waits for its end.
                    {move || (!session.is_busy() || has_draft.get()).then(|| view! { <SendButton session /> })}
                    {move || session.is_busy().then(|| view! { <StopButton session /> })}
                </span>
            </div>
        </form>
    }
    .into_any()
}

/// What stands below the field: why a message does not go, or what keys do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hint {
    Obstacle(&'static str),
    Keys(&'static str),
}

/// A text that is dropped on the page goes into the message field, where a field does not take it itself. A file would be opened in
/// the page's place; the document keeps browsers from it (`app`), and here one is told why.
fn take_drops(session: Session) {
    let text = use_language();
    let take = move |event: &DragEvent| -> Option<()> {
        let data = event.data_transfer()?;
        let is_file = data.types().includes(&"Files".into(), 0);
        let place = event.target()?.dyn_into::<Element>().ok();
        if !is_file && place.is_some_and(|place| matches!(place.closest("input, textarea"), Ok(Some(_)))) {
            return None;
        }
        event.prevent_default();
        if event.type_() == "drop" {
            let dropped = data.get_data("text/plain").unwrap_or_default();
            if is_file {
                session.say(text.no_files().to_owned());
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
        on_cleanup(move || {
            over.remove();
            dropped.remove();
        });
    });
}

/// Says that a file cannot be attached when one is pasted that has no text beside it.
fn refuse_pasted_files(session: Session) {
    let text = use_language();
    effect(move || {
        let pasted = window_event_listener(ev::paste, move |event: ClipboardEvent| {
            let Some(data) = event.clipboard_data() else { return };
            let has = |kind: &str| data.types().includes(&kind.into(), 0);
            if has("Files") && !has("text/plain") {
                event.prevent_default();
                session.say(text.no_files().to_owned());
            }
        });
        on_cleanup(move || pasted.remove());
    });
}

#[component]
fn SendButton(session: Session) -> impl IntoView {
    let text = use_language();
    // What keeps a message from being sent.
    let obstacle = memo(move |_| match session.place.get() {
        Place::Deleted => Some(text.send_after_deletion()),
        _ if session.is_leaving.get() => Some(text.send_while_deleting()),
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
            disabled=move || !browser::IS_HERE || session.stopping.get()
            on:click=move |event: MouseEvent| {
                // The second click of a double click on Send, whose place this took, is no wish to stop.
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

/// Whether this key press sends: Enter where it does, without Shift, and not the one that ends an input method's composition.
pub(crate) fn sends(event: &KeyboardEvent) -> bool {
    event.key() == "Enter" && enter_sends() && !event.shift_key() && !is_composing(event)
}

/// Under a thumb there is no Shift+Enter, so Enter breaks the line and the button sends. The server does not know.
fn enter_sends() -> bool {
    !browser::IS_HERE || !is_touched()
}

/// Moves the focus to the message field by the next frame, unless something has it then: a user whose button is gone continues
/// to write. On a touch screen that would bring up the keyboard.
pub(crate) fn go_on_writing() {
    in_next_frame(|| {
        if !is_touched() {
            browser::focus_if_free(COMPOSER_ID);
        }
    });
}

/// Moves the focus to the message field from a button that is about to go. On a touch screen that would bring up the keyboard.
pub(crate) fn leave_button() {
    if !is_touched() {
        browser::focus(COMPOSER_ID);
    }
}

/// Moves the focus to the message field of what was opened, whatever has it: before the next key comes, which should not be
/// lost, or in the next frame, where the field was still out of reach or that of what was left.
pub(crate) fn begin_to_write() {
    spawn_local(async {
        tick().await;
        browser::focus(COMPOSER_ID);
        in_next_frame(|| {
            browser::focus(COMPOSER_ID);
        });
    });
}

/// The same for who chose what to open, unless that was by finger, where it would bring up the keyboard.
pub(crate) fn begin_to_write_after_press() {
    if !is_touched() {
        begin_to_write();
    }
}

/// Whether one points by finger. What has no pointer at all has keys.
fn is_touched() -> bool {
    window().match_media("(pointer: coarse)").ok().flatten().is_some_and(|query| query.matches())
}
