//! All messages of a conversation, one after another.

use leptos::prelude::*;
use tallybook_protocol::MessageId;

use crate::{
    components::{
        each::Each,
        message::{Message, UnstoredMessage},
    },
    session::Session,
};

/// The messages, and below them what the server has not confirmed yet.
#[component]
pub(crate) fn Messages(session: Session, ids: Memo<Vec<MessageId>>) -> impl IntoView {
    view! {
        <Each each=move || ids.get() key=|id| *id children=move |id| view! { <Message id session /> } />
        {move || session.unstored.get().map(|content| view! { <UnstoredMessage content /> })}
    }
    .into_any()
}
