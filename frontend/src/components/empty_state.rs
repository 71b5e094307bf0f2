//! What a new chat shows before its first message.

use leptos::prelude::*;

use crate::{browser, language::use_language, session::Session};

/// A greeting and three prompts that show what the tools do.
#[component]
pub(crate) fn EmptyState(session: Session) -> impl IntoView {
    let text = use_language();
    let examples = text.examples().map(|example| {
        view! {
            <li>
                <button
                    type="button"
                    class="example"
                    data-testid="example"
                    disabled=!browser::IS_HERE
                    on:click=move |_| session.send(example)
                >
                    {example}
                </button>
            </li>
        }
    });
    view! {
        <section class="empty">
            <h1>{text.empty_title()}</h1>
            <p>{text.empty_text()}</p>
            <ul class="examples">{examples.collect_view()}</ul>
        </section>
    }
    .into_any()
}
