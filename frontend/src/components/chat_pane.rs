//! The open conversation: its messages above, the message field below. It owns the session.

use leptos::prelude::*;
use tallybook_protocol::{Conversation, ModelInfo};

use crate::{
    components::{composer::Composer, thread::Thread},
    session::{Listeners, Phase, Session},
    text,
};

/// One conversation, or a chat that is about to become one.
#[component]
pub(crate) fn ChatPane(
    conversation: Option<Conversation>,
    model: Option<ModelInfo>,
    listeners: Listeners,
    hydrated: ReadSignal<bool>,
) -> impl IntoView {
    let session = Session::new(conversation, listeners);
    let is_demo = model.is_some_and(|model| model.provider == "demo");
    let reconnecting = move || match session.phase.get() {
        Phase::Reconnecting(seconds) => Some(text::reconnecting(seconds)),
        Phase::Idle | Phase::Sending | Phase::Following | Phase::Hidden => None,
    };
    view! {
        <Thread session hydrated />
        <div class="dock">
            <p class="connection" role="status">{reconnecting}</p>
            {move || session.notice.get().map(|notice| view! {
                <p class="notice" role="alert" data-testid="notice">{notice}</p>
            })}
            <Composer session hydrated />
            {is_demo.then(DemoNotice)}
            <noscript>
                <p class="demo">{text::NEEDS_JAVASCRIPT}</p>
            </noscript>
        </div>
    }
    .into_any()
}

#[component]
fn DemoNotice() -> impl IntoView {
    let [key, other_key] = text::DEMO_SETTINGS;
    view! {
        <p class="demo" data-testid="demo-notice">
            {text::DEMO_NOTICE_START}
            <code>{key}</code>
            {text::DEMO_NOTICE_OR}
            <code>{other_key}</code>
            {text::DEMO_NOTICE_END}
        </p>
    }
}
