//! The bar that finds a phrase in the open conversation: a field, which of how many places is shown, and the ways to
//! the others. It counts on the page what is loaded, and asks the server what is not.

mod finding;

use leptos::{
    ev::KeyboardEvent,
    html,
    prelude::*,
    task::{spawn_local, tick},
};
use uuid::Uuid;

use self::finding::Finding;
use crate::{
    components::{
        chat_pane::early_find::FindState,
        parts::{
            commands::is_composing,
            icon::{Draw, Icon},
        },
    },
    language::use_language,
    reactive::{effect, memo},
    reveal,
    search::SearchStep,
    session::Session,
};

/// The bar, as long as it is open.
#[component]
pub(crate) fn FindBar(conversation: Uuid, session: Session, find: FindState) -> impl IntoView {
    let text = use_language();
    let field = NodeRef::<html::Input>::new();
    let finding = Finding::new(conversation, session);
    let said = memo(move |_| finding.said(text));
    let close = move || {
        reveal::forget();
        find.close();
    };
    effect(move || {
        if let Some(field) = field.get() {
            // Before the next frame, so that the two fields are never seen together.
            spawn_local(async move {
                tick().await;
                // It may have been closed meanwhile.
                if field.is_connected() {
                    let typed = find.replace_early(&field);
                    if !typed.is_empty() {
                        finding.look_for(typed);
                    }
                }
            });
        }
    });
    on_cleanup(move || find.leave());
    let on_key = move |event: KeyboardEvent| {
        match (event.key().as_str(), event.shift_key()) {
            _ if is_composing(&event) => return,
            ("Enter", false) => finding.step(SearchStep::Next),
            ("Enter", true) => finding.step(SearchStep::Previous),
            ("Escape", _) => close(),
            _ => return,
        }
        event.prevent_default();
    };
    let is_useless = memo(move |_| !finding.has_places()).into();
    view! {
        <search class="find" data-testid="find" aria-label=text.find_here()>
            <input
                type="search"
                class="field"
                id="find"
                data-testid="find-field"
                autocomplete="off"
                enterkeyhint="search"
                aria-label=text.find_here()
                placeholder=text.find_here()
                node_ref=field
                on:input:target=move |event| finding.look_for(event.target().value())
                on:keydown=on_key
            />
            <span class="find-place" role="status" data-testid="find-place">{said}</span>
            {button(Icon::ArrowUp, "find-previous", text.find_previous(), is_useless, move || finding.step(SearchStep::Previous))}
            {button(Icon::ArrowDown, "find-next", text.find_next(), is_useless, move || finding.step(SearchStep::Next))}
            {button(Icon::Cross, "find-close", text.find_close(), Signal::stored(false), close)}
        </search>
    }
    .into_any()
}

fn button(
    icon: Icon,
    name: &'static str,
    label: &'static str,
    is_useless: Signal<bool>,
    run: impl Fn() + 'static,
) -> AnyView {
    let run: Box<dyn Fn()> = Box::new(run);
    view! {
        <button
            type="button"
            class="button icon-only quiet small"
            data-testid=name
            aria-label=label
            title=label
            aria-disabled=move || is_useless.get().then_some("true")
            on:click=move |_| run()
        >
            <Draw icon />
        </button>
    }
    .into_any()
}
