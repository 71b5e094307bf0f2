//! The open conversation: its messages above, the message field below. It owns the session.

use leptos::prelude::*;
use tallybook_protocol::{Conversation, ModelInfo};

use crate::{
    components::{commands::on_command, composer::Composer, thread::Thread},
    keys::Command,
    language::use_language,
    session::{Listeners, Phase, Session},
    text::DEMO_SETTINGS,
    transcript::Transcript,
};

/// One conversation, or a chat that is about to become one.
#[component]
pub(crate) fn ChatPane(
    conversation: Option<Conversation>,
    model: Option<ModelInfo>,
    /// The conversation's title; none of a new chat.
    #[prop(into)]
    name: Signal<Option<String>>,
    listeners: Listeners,
    hydrated: ReadSignal<bool>,
) -> impl IntoView {
    let text = use_language();
    let session = Session::new(conversation, listeners);
    let is_demo = model.is_some_and(|model| model.provider == "demo");
    let reconnecting = move || match session.phase.get() {
        Phase::Reconnecting(seconds) => Some(text.reconnecting(seconds)),
        Phase::Idle | Phase::Sending | Phase::Following | Phase::Hidden => None,
    };
    // The end of an answer is told once, and nothing before it.
    let told = Memo::new(move |told: Option<&Told>| match told {
        _ if session.is_busy() => Told::Busy,
        Some(Told::Busy | Told::Answered) => Told::Answered,
        None | Some(Told::Nothing) => Told::Nothing,
    });
    let usage = Memo::new(move |_| session.transcript.with(Transcript::usage));
    on_command(move |command| {
        let stops = command == Command::Stop && session.phase.get_untracked() != Phase::Idle;
        if stops {
            session.stop();
        }
        stops
    });
    view! {
        {move || name.get().map(|name| view! { <h1 class="visually-hidden">{name}</h1> })}
        <Thread session hydrated />
        <p class="visually-hidden" role="status">
            {move || (told.get() == Told::Answered).then(|| text.answered())}
        </p>
        <div class="dock">
            <p class="connection" role="status">{reconnecting}</p>
            {move || session.notice.get().map(|notice| view! {
                <p class="notice" role="alert" data-testid="notice">{notice}</p>
            })}
            <Composer session hydrated />
            {move || usage.get().map(|usage| view! {
                <p class="usage-in-all" data-testid="usage-in-all">{text.usage_in_all(usage)}</p>
            })}
            {is_demo.then(DemoNotice)}
            <noscript>
                <p class="demo">{text.needs_javascript()}</p>
            </noscript>
        </div>
    }
    .into_any()
}

/// What those have heard who do not see the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Nothing,
    Busy,
    Answered,
}

#[component]
fn DemoNotice() -> impl IntoView {
    let text = use_language();
    let [key, other_key] = DEMO_SETTINGS;
    view! {
        <p class="demo" data-testid="demo-notice">
            {text.demo_notice_start()}
            <code>{key}</code>
            {text.demo_notice_or()}
            <code>{other_key}</code>
            {text.demo_notice_end()}
        </p>
    }
}
