//! What a new chat shows before its first message.

use leptos::prelude::*;

use crate::{session::Session, text};

/// A greeting and three prompts that show what the tools do.
#[component]
pub(crate) fn EmptyState(session: Session, hydrated: ReadSignal<bool>) -> impl IntoView {
    let examples = text::EXAMPLES.map(|example| {
        view! {
            <li>
                <button
                    type="button"
                    class="example"
                    data-testid="example"
                    disabled=move || !hydrated.get()
                    on:click=move |_| session.send(example)
                >
                    {example}
                </button>
            </li>
        }
    });
    view! {
        <section class="empty">
            <h1>{text::EMPTY_TITLE}</h1>
            <p>{text::EMPTY_TEXT}</p>
            <ul class="examples">{examples.collect_view()}</ul>
        </section>
    }
    .into_any()
}
