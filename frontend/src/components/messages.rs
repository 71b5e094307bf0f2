//! All messages of a conversation, one after another.

use leptos::prelude::*;
use tallybook_protocol::MessageId;

use crate::{
    components::{each::Each, message::Message, question::UnstoredMessage, told_note::ToldNote},
    reactive::memo,
    session::Session,
};

/// The messages, and below them what the server has not confirmed yet.
#[component]
pub(crate) fn Messages(session: Session, ids: Memo<Vec<MessageId>>) -> impl IntoView {
    let told = memo(move |_| session.transcript.with(|transcript| transcript.told().cloned()));
    let message = move |id| {
        view! {
            <ToldNote id told />
            <Message id session />
        }
    };
    view! {
        <Each each=move || ids.get() key=|id| *id children=message />
        {move || session.unstored.get().map(|content| view! { <UnstoredMessage content /> })}
    }
    .into_any()
}
