//! What a person said: a bubble with plain text, of a long one the beginning.

use leptos::prelude::*;
use tallybook_markdown::bounded_text;
use tallybook_protocol::MessageId;

use crate::{
    components::{
        edit_form::EditForm,
        message_foot::QuestionFoot,
        shown::{Shown, drawn_when_near, read, status},
    },
    goal::element_id,
    language::use_language,
    reactive::memo,
};

/// A message that the server has not confirmed yet.
#[component]
pub(crate) fn UnstoredMessage(content: String) -> impl IntoView {
    let text = use_language();
    view! {
        <article class="message" data-role="user" data-status="sending">
            <h2 class="visually-hidden">{text.you_said()}</h2>
            {bubble(content)}
        </article>
        <p class="thinking" role="status"><span class="spinner" aria-hidden="true"></span>{text.sending()}</p>
    }
}

/// A message of a person's, as it is or while it is changed.
#[component]
pub(crate) fn Question(id: MessageId, shown: Shown) -> impl IntoView {
    let text = use_language();
    let Shown { entry, session, .. } = shown;
    let editing = memo(move |_| session.is_some_and(|session| session.is_edited(id)));
    let words = memo(move |_| read(entry, |entry| entry.text.clone()));
    let content = move || match session {
        Some(session) if editing.get() => view! { <EditForm id session /> }.into_any(),
        _ => view! {
            {move || bubble(words.get())}
            {session.map(|session| view! { <QuestionFoot entry session /> })}
        }
        .into_any(),
    };
    view! {
        <article class="message" id=element_id(id) data-role="user" data-status=move || status(entry) data-measured=drawn_when_near(id, session)>
            <h2 class="visually-hidden">{text.you_said()}</h2>
            {content}
        </article>
    }
}

/// What a person wrote; of a long text the beginning, until it is asked for.
pub(crate) fn bubble(content: String) -> AnyView {
    let text = use_language();
    let folded = RwSignal::new(true);
    let shown = bounded_text(content);
    let fold = is_long(&shown).then(|| {
        view! {
            <button
                type="button"
                class="button small fold"
                data-testid="fold"
                aria-expanded=move || (!folded.get()).to_string()
                on:click=move |_| folded.update(|folded| *folded = !*folded)
            >
                {move || if folded.get() { text.show_whole() } else { text.show_less() }}
            </button>
        }
    });
    let is_folded = fold.is_some();
    view! {
        <div class="bubble" dir="auto">
            <div class="bubble-text" class:folded=move || is_folded && folded.get()>{shown}</div>
            {fold}
        </div>
    }
    .into_any()
}

/// Whether a text takes clearly more lines than are shown of it at first. How wide they are, only a browser knows.
fn is_long(text: &str) -> bool {
    const LINES: usize = 14;
    const CHARACTERS_A_LINE: usize = 80;
    let lines = text.split('\n').take(LINES + 1).map(|line| line.chars().count() / CHARACTERS_A_LINE + 1);
    lines.sum::<usize>() > LINES
}
