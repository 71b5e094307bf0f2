//! The message field: it grows with its text, sends on Enter, and turns its button into Stop while a turn runs.

use leptos::{
    ev::{KeyboardEvent, MouseEvent, SubmitEvent},
    html,
    prelude::*,
};

use crate::{
    browser,
    components::icon::{Draw, Icon},
    language::use_language,
    session::{Place, Session},
};

/// `keyCode` of a key press that an input method takes for itself. Safari ends a composition before it reports the Enter
/// that ended it, and leaves only this.
const HANDLED_BY_INPUT_METHOD: u32 = 229;

/// The message field and its button.
#[component]
pub(crate) fn Composer(session: Session) -> impl IntoView {
    let text = use_language();
    let field = NodeRef::<html::Textarea>::new();
    let send = move || session.send_draft();
    // One comes here to write, and after an answer to go on writing; but on a touch screen the focus would bring up the
    // keyboard.
    Effect::new(move || {
        if !session.is_busy() && has_fine_pointer() {
            request_animation_frame(move || {
                if let Some(field) = field.try_get_untracked().flatten().filter(|_| is_focus_free()) {
                    let _ = field.focus();
                }
            });
        }
    });
    view! {
        <form
            class="composer"
            on:submit=move |event: SubmitEvent| {
                event.prevent_default();
                send();
            }
        >
            // The field lies over a copy of its text, which gives both their height.
            <div class="composer-field" data-text=move || session.draft.get()>
                <textarea
                    id="composer"
                    data-testid="composer"
                    rows="1"
                    dir="auto"
                    enterkeyhint=if enter_sends() { "send" } else { "enter" }
                    autocomplete="off"
                    aria-label=text.composer_label()
                    aria-describedby="composer-hint"
                    placeholder=text.composer_placeholder()
                    node_ref=field
                    // Typed before the page is alive, it would be lost.
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
                <span class="composer-hint" id="composer-hint">
                    {move || match () {
                        () if session.is_leaving.get() => text.send_while_leaving(),
                        () if enter_sends() => text.composer_hint(),
                        () => text.composer_hint_touch(),
                    }}
                </span>
                {move || if session.is_busy() {
                    view! { <StopButton session /> }.into_any()
                } else {
                    view! { <SendButton session /> }.into_any()
                }}
            </div>
        </form>
    }
    .into_any()
}

#[component]
fn SendButton(session: Session) -> impl IntoView {
    let text = use_language();
    // What keeps a message from being sent.
    let obstacle = Memo::new(move |_| match session.place.get() {
        Place::Deleted => Some(text.send_after_deletion()),
        _ if session.is_leaving.get() => Some(text.send_while_leaving()),
        _ => session.draft.with(|draft| draft.trim().is_empty()).then(|| text.send_nothing()),
    });
    view! {
        <button
            type="submit"
            class="button icon-only primary"
            data-testid="send"
            aria-label=text.send()
            title=move || obstacle.get().unwrap_or(text.send())
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
                // The second click of a double click on Send, whose place this took, is no wish to stop.
                if event.detail() < 2 {
                    session.stop();
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
    event.key() == "Enter"
        && enter_sends()
        && !event.shift_key()
        && !event.is_composing()
        && event.key_code() != HANDLED_BY_INPUT_METHOD
}

/// Under a thumb there is no Shift+Enter, so Enter breaks the line and the button sends. The server does not know.
fn enter_sends() -> bool {
    !browser::IS_HERE || has_fine_pointer()
}

fn has_fine_pointer() -> bool {
    window().match_media("(pointer: fine)").ok().flatten().is_some_and(|query| query.matches())
}

/// Whether nothing has the focus, so that taking it takes it from nobody.
fn is_focus_free() -> bool {
    document().active_element().is_none_or(|element| element.tag_name().eq_ignore_ascii_case("body"))
}
