//! All messages of a conversation, one after another.

use leptos::prelude::*;
use tallybook_protocol::MessageId;

use crate::{
    browser,
    components::{
        composer::file_names::file_names,
        message::{MessageMenu, MessageView, OpenMenu, shown::ShownMessage},
        parts::{each::Each, own_element::OwnElement},
    },
    language::use_language,
    reactive::memo,
    session::{Session, UnsentMessage},
};

/// The messages, and below them the one that the server has not confirmed yet.
#[component]
pub(crate) fn Messages(session: Session, ids: Memo<Vec<MessageId>>) -> impl IntoView {
    let context = memo(move |_| session.transcript.with(|transcript| transcript.context().cloned()));
    let menu = OpenMenu::new();
    provide_context(menu);
    let message = move |id| {
        let shown = ShownMessage { entry: session.entry(id), expand_all: session.expand_all, session: Some(session) };
        OwnElement::from(MessageView::new(id, shown, Some(context)))
    };
    view! {
        {browser::IS_HERE.then(|| view! { <MessageMenu open=menu /> })}
        <Each each=move || ids.get() key=|id| *id children=message />
        {move || session.unstored.get().map(|message| view! { <UnstoredMessage message /> })}
    }
    .into_any()
}

/// A message that the server has not confirmed yet.
#[component]
fn UnstoredMessage(message: UnsentMessage) -> impl IntoView {
    let text = use_language();
    let UnsentMessage { content, files, .. } = message;
    let class = if crate::message::is_long(&content) { "bubble-text folded" } else { "bubble-text" };
    let has_long_word = tallybook_nodes::has_long_word(&content).then_some("");
    view! {
        <article class="message" data-role="user" data-status="sending">
            <h2 class="visually-hidden">{text.you_said()}</h2>
            {(!files.is_empty()).then(|| file_names(&files))}
            {(!content.is_empty()).then(|| view! {
                <div class="bubble" dir="auto">
                    <div class=class data-long-word=has_long_word>{tallybook_nodes::bounded_text(content)}</div>
                </div>
            })}
        </article>
        <p class="thinking" role="status"><span class="spinner" aria-hidden="true"></span>{text.sending()}</p>
    }
}
