//! The open conversation: its messages above, the message field below. It owns the session.

use leptos::prelude::*;
use tallybook_protocol::Conversation;
use uuid::Uuid;

use crate::{
    browser,
    components::{commands::on_command, composer::Composer, thread::Thread},
    conversation_list::ConversationList,
    keys::Command,
    language::use_language,
    session::{Listeners, Phase, Session},
    text::{DEMO_SETTINGS, page_title},
    transcript::Transcript,
};

/// One conversation, or a chat that is about to become one.
#[component]
pub(crate) fn ChatPane(
    conversation: Option<Conversation>,
    /// Whether the built-in demo model answers.
    is_demo: bool,
    /// The title that the conversation was opened with.
    opened_with: Option<String>,
    /// The list, which has a newer title than the one that the conversation was opened with.
    list: ConversationList,
    /// The conversation that is open.
    current: Signal<Option<Uuid>>,
    listeners: Listeners,
) -> impl IntoView {
    let text = use_language();
    let session = Session::new(conversation, listeners);
    let name = Memo::new(move |_| current.get().and_then(|uuid| list.title_of(uuid)).or_else(|| opened_with.clone()));
    let has_begun = Memo::new(move |_| {
        session.unstored.with(Option::is_some) || session.transcript.with(|transcript| !transcript.entries().is_empty())
    });
    // A chat that has just begun is not in the list yet; before that the greeting is the heading.
    let heading = Memo::new(move |_| name.get().or_else(|| has_begun.get().then(|| text.new_chat().to_owned())));
    Effect::new(move || browser::name_tab(&name.with(|name| page_title(name.as_deref()))));
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
        {move || heading.get().map(|heading| view! { <h1 class="visually-hidden">{heading}</h1> })}
        <Thread session />
        <p class="visually-hidden" role="status">
            {move || (told.get() == Told::Answered).then(|| text.answered())}
        </p>
        <div class="dock">
            <p class="connection" role="status">{reconnecting}</p>
            {move || session.notice.get().map(|notice| view! {
                <p class="failure" role="alert" data-testid="notice">{notice}</p>
            })}
            <Composer session />
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
