//! The content of an opened tool call: input, and output or error. Always text, never HTML.

use std::sync::Arc;

use leptos::prelude::*;
use tallybook_protocol::ToolCallStatus;

use crate::{
    components::{
        message::{call_text::CallPart, reviews::reviews_view},
        parts::times::{times, when},
        sidebar::footer::UserName,
    },
    language::use_language,
    message::CallTextPart,
    reactive::memo,
    session::Session,
    transcript::Call,
};

/// The details of a call.
#[component]
pub(crate) fn ToolCallDetails(
    /// ID that the button refers to.
    id: String,
    call: Memo<Option<Arc<Call>>>,
    session: Option<Session>,
) -> impl IntoView {
    let text = use_language();
    let has = move |part: CallTextPart| call.with(|call| call.as_ref().is_some_and(|call| part.of(call).is_some()));
    let note = memo(move |_| {
        let nothing = !has(CallTextPart::Output) && !has(CallTextPart::Error);
        nothing.then(|| call.with(|call| text.call_note(call.as_ref()?.status))).flatten()
    });
    let reason = memo(move |_| {
        let denied = move |call: &&Arc<Call>| call.status == ToolCallStatus::Denied;
        call.with(|call| call.as_ref().filter(denied)?.decided.as_ref()?.reason.clone())
    });
    // The line above shows a display name.
    let raw_name = memo(move |_| call.with(|call| call.as_ref()?.raw_name()));
    let error_type = memo(move |_| call.with(|call| call.as_ref()?.error_type.clone()));
    let decided = memo(move |_| call.with(|call| call.as_ref()?.decided.clone()));
    let has_account = use_context::<UserName>().is_some_and(|UserName(name)| name.is_some());
    let parts = CallTextPart::ALL.map(|part| {
        let is_here = memo(move |_| has(part));
        let id = format!("{id}-{}", part.name());
        move || is_here.get().then(|| view! { <CallPart part id=id.clone() call session /> })
    });
    view! {
        <div class="tool-details" id=id data-testid="tool-call-details">
            {parts.into_iter().collect_view()}
            {move || call.with(|call| reviews_view(&call.as_ref()?.reviews, text))}
            {move || error_type.get().map(|kind| view! {
                <p class="tool-note" data-testid="error-type">{text.error_type()}": "<code>{kind}</code></p>
            })}
            {move || decided.get().map(|decided| view! {
                <p class="tool-note" data-testid="decided">
                    {text.decided(&decided, has_account)}
                    {decided.at_ms.and_then(when).map(|at| view! { " · " {at} })}
                </p>
            })}
            {move || reason.get().map(|reason| view! {
                <h3>{text.denied_because()}</h3>
                <p class="tool-note" dir="auto" data-testid="denied-because">{reason}</p>
            })}
            {move || raw_name.get().map(|name| view! { <p class="tool-note"><code>{name}</code></p> })}
            {move || call.with(|call| times(text, call.as_ref()?.span())).map(|times| view! {
                <p class="tool-note">{times}</p>
            })}
            {move || note.get().map(|note| view! { <p class="tool-note">{note}</p> })}
        </div>
    }
    .into_any()
}
