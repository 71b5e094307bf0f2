//! The message field. It grows with its text, sends on Enter, and has a Stop button while a turn runs.

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

/// Attribute of the hint as long as it describes keys.
pub(crate) const OF_KEYS: &str = "data-of-keys";

/// The message field and its buttons.
#[component]
pub(crate) fn Composer(session: Session) -> impl IntoView {
    let text = use_language();
    let field = NodeRef::<html::Textarea>::new();
    let send = move || session.send_draft();
    let has_draft = memo(move |_| session.draft.with(|draft| !draft.trim().is_empty()));
    // The user opens a chat to write in it. At the end of an answer, the focus stays where the user reads.
    if !untrack(|| session.is_busy()) {
        focus_composer();
    }
    take_drops(session);
    refuse_pasted_files(session);
    let hint = memo(move |_| match () {
        () if session.is_leaving.get() => Hint::Obstacle(text.send_while_deleting()),
        () if session.phase.get() == Phase::Awaiting => Hint::Obstacle(text.send_after_decision()),
        () if session.place.with(|place| *place == Place::Deleted) => Hint::Obstacle(text.send_after_deletion()),
        // On-screen keyboards label the key with its action.
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
                // The clicked button is removed.
                if let Some(field) = field.get_untracked().filter(|_| !is_touched()) {
                    let _ = field.focus();
                }
            }
        >
            // The field is over a copy of its text, which sets their height.
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
                    // Without scripts, typed text is useless. With scripts, the user can type before the page is
                    // interactive (`app`).
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
                    // While an answer is being written, messages are queued.
                    {move || (!session.is_busy() || has_draft.get()).then(|| view! { <SendButton session /> })}
                    {move || session.is_busy().then(|| view! { <StopButton session /> })}
                </span>
            </div>
        </form>
    }
    .into_any()
}

/// The line below the field: why a message cannot be sent, or what keys do.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hint {
    Obstacle(&'static str),
    Keys(&'static str),
}

/// Adds text that the user drops on the page to the message field. For a dropped file, shows a notice. The document
/// keeps the browser from opening it (`app`).
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

/// Shows a notice if the user pastes a file without text.
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
    // The reasons why a message cannot be sent.
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

/// Returns `true` if a key press sends: Enter without Shift, unless it ends an input method's composition.
pub(crate) fn sends(event: &KeyboardEvent) -> bool {
    event.key() == "Enter" && enter_sends() && !event.shift_key() && !is_composing(event)
}

/// On-screen keyboards have no Shift+Enter, so there Enter inserts a line break. The server does not know the device.
fn enter_sends() -> bool {
    !browser::IS_HERE || !is_touched()
}

/// Focuses the message field in the next frame, unless another element has the focus then. Not on a touch screen, where
/// it would open the keyboard.
pub(crate) fn focus_composer() {
    in_next_frame(|| {
        if !is_touched() {
            browser::focus_if_free(COMPOSER_ID);
        }
    });
}

/// Focuses the message field after a button that is about to be removed. Not on a touch screen, where it would open the
/// keyboard.
pub(crate) fn leave_button() {
    if !is_touched() {
        browser::focus(COMPOSER_ID);
    }
}

/// Focuses the message field of the opened chat, now or, if it does not exist yet, in the next frame. So no key press
/// is lost.
pub(crate) fn begin_to_write() {
    spawn_local(async {
        tick().await;
        browser::focus(COMPOSER_ID);
        in_next_frame(|| {
            browser::focus(COMPOSER_ID);
        });
    });
}

/// Does the same after a click, but not after a touch, where it would open the keyboard.
pub(crate) fn begin_to_write_after_press() {
    if !is_touched() {
        begin_to_write();
    }
}

/// Returns `true` if the main pointer is a finger. Devices without a pointer have keys.
fn is_touched() -> bool {
    window().match_media("(pointer: coarse)").ok().flatten().is_some_and(|query| query.matches())
}
