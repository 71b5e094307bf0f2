//! The messages of a conversation in their scrolling area, which follows the newest text unless the reader went up.

use leptos::{html, prelude::*};
use web_sys::HtmlElement;

use crate::{
    components::{
        empty_state::EmptyState,
        icon::{Draw, Icon},
        message::{Message, UnstoredMessage},
    },
    session::Session,
    text,
};

/// Whoever is within so many pixels of the end reads the newest text.
const NEAR_END_PX: i32 = 48;

/// The messages.
#[component]
pub(crate) fn Thread(session: Session, hydrated: ReadSignal<bool>) -> impl IntoView {
    let area = NodeRef::<html::Div>::new();
    let following = RwSignal::new(true);
    let ids = move || {
        session.transcript.with(|transcript| transcript.entries().iter().map(|entry| entry.id).collect::<Vec<_>>())
    };
    let is_empty = Memo::new(move |_| {
        session.transcript.with(|transcript| transcript.entries().is_empty()) && session.unstored.with(Option::is_none)
    });

    // Where the page itself scrolled to last: whoever is above that went up.
    let placed = StoredValue::new(0);
    let went_up = move |area: &HtmlElement| area.scroll_top() < placed.get_value() - 1 && !is_near_end(area);
    let to_end = move || {
        // By the next frame the conversation may have been left.
        let Some(area) = area.try_get_untracked().flatten() else { return };
        if !following.get_untracked() || went_up(&area) {
            following.set(false);
            return;
        }
        area.set_scroll_top(area.scroll_height());
        placed.set_value(area.scroll_top());
    };
    // What one sends oneself is always worth seeing.
    Effect::new(move || {
        if session.unstored.with(Option::is_some) {
            placed.set_value(0);
            following.set(true);
        }
    });
    Effect::new(move || {
        session.transcript.track();
        session.unstored.track();
        session.notice.track();
        if following.get_untracked() {
            // Effects run before the text is in its place; the next frame has it.
            request_animation_frame(to_end);
        }
    });

    view! {
        <div
            class="thread"
            id="thread"
            node_ref=area
            on:scroll=move |_| {
                if let Some(area) = area.get_untracked() {
                    // Text that came in since the page scrolled does not mean that the reader left the end.
                    let follow = is_near_end(&area) || (following.get_untracked() && !went_up(&area));
                    if follow != following.get_untracked() {
                        following.set(follow);
                    }
                }
            }
        >
            <div class="messages">
                <Show when=move || is_empty.get()>
                    <EmptyState session hydrated />
                </Show>
                <For each=ids key=|id| *id children=move |id| view! { <Message id session /> } />
                {move || session.unstored.get().map(|content| view! { <UnstoredMessage content /> })}
            </div>
        </div>
        <div class="jump-place">
        <Show when=move || !following.get()>
            <button
                type="button"
                class="jump"
                on:click=move |_| {
                    placed.set_value(0);
                    following.set(true);
                    to_end();
                }
            >
                <Draw icon=Icon::ArrowDown />
                {text::JUMP_TO_NEWEST}
            </button>
        </Show>
        </div>
    }
    .into_any()
}

fn is_near_end(area: &HtmlElement) -> bool {
    area.scroll_height() - area.scroll_top() - area.client_height() <= NEAR_END_PX
}
