//! The note above the message field that the page is going to a message, or about to reconnect, with a button to do so
//! now.

use leptos::prelude::*;

use crate::{
    components::parts::typing::focus_composer,
    feed::Feed,
    language::use_language,
    reactive::memo,
    session::{Phase, Session},
};

/// Renders the state of the connection; empty if it works. After the end of the session, the note about that is enough.
pub(crate) fn connection_note(session: Session, feed: Feed) -> AnyView {
    let text = use_language();
    let reconnecting = move || match session.phase.get() {
        Phase::Reconnecting(_) if feed.is_signed_out.get() => None,
        Phase::Reconnecting(seconds) => Some(text.reconnecting(seconds)),
        Phase::Idle | Phase::Sending | Phase::Following | Phase::Hidden | Phase::Awaiting => None,
    };
    // The countdown is visible, but not announced.
    let is_reconnecting =
        memo(move |_| matches!(session.phase.get(), Phase::Reconnecting(_)) && !feed.is_signed_out.get());
    view! {
        <div class="connection">
            <span class="visually-hidden" role="status">
                {move || is_reconnecting.get().then(|| text.connection_interrupted())}
            </span>
            <span role="status">{move || session.is_going.get().then(|| text.opening_message())}</span>
            <span class="connection-countdown" aria-hidden="true">{reconnecting}</span>
            {move || is_reconnecting.get().then(|| view! {
                <button
                    type="button"
                    class="button small"
                    data-testid="retry-now"
                    on:click=move |_| {
                        session.retry();
                        focus_composer();
                    }
                >
                    {text.retry_now()}
                </button>
            })}
        </div>
    }
    .into_any()
}
