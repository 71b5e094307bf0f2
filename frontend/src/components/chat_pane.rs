//! The open conversation: its messages above, the message field below. It owns the session.

use leptos::prelude::*;
use tallybook_protocol::Conversation;
use uuid::Uuid;

use crate::{
    browser,
    components::{
        commands::on_command,
        composer::Composer,
        nothing_here::{LoadFailed, NothingHere},
        thread::Thread,
    },
    conversation_list::ConversationList,
    feed::Feed,
    keys::Command,
    language::use_language,
    session::{Phase, Place, Session, Ways},
    text::{DEMO_SETTINGS, page_title},
    transcript::Transcript,
};

/// One conversation, or a chat that is about to become one.
#[component]
pub(crate) fn ChatPane(
    /// What is shown.
    place: Place,
    /// The conversation there, when it is here already.
    conversation: Option<Conversation>,
    /// Whether the built-in demo model answers.
    is_demo: bool,
    /// The list, which has a newer title than the one that the conversation was opened with.
    list: ConversationList,
    /// The conversation that is open.
    current: Signal<Option<Uuid>>,
    /// Where the page learns its title from.
    title: RwSignal<Option<String>>,
    feed: Feed,
    ways: Ways,
) -> impl IntoView {
    let text = use_language();
    let opened_with = conversation.as_ref().map(|conversation| conversation.summary.title.clone());
    let session = Session::new(place, conversation, feed, ways);
    Effect::new(move || session.set_leaving(current.get().is_some_and(|uuid| list.is_leaving(uuid))));
    let name = Memo::new(move |_| current.get().and_then(|uuid| list.title_of(uuid)).or_else(|| opened_with.clone()));
    Effect::new(move || title.set(name.get()));
    let has_begun = Memo::new(move |_| {
        session.unstored.with(Option::is_some) || session.transcript.with(|transcript| !transcript.entries().is_empty())
    });
    // A chat that has just begun is not in the list yet; before that the greeting is the heading.
    let heading = Memo::new(move |_| name.get().or_else(|| has_begun.get().then(|| text.new_chat().to_owned())));
    let tab = Memo::new(move |_| match session.place.get() {
        Place::Missing => page_title(Some(text.not_found_title())),
        Place::Failed(..) => page_title(Some(text.failed_title())),
        Place::NewChat | Place::Loading(_) | Place::Open(_) | Place::Deleted => {
            name.with(|name| page_title(name.as_deref()))
        }
    });
    Effect::new(move || browser::name_tab(&tab.get()));
    let reconnecting = move || match session.phase.get() {
        Phase::Reconnecting(seconds) => Some(text.reconnecting(seconds)),
        Phase::Idle | Phase::Sending | Phase::Following | Phase::Hidden => None,
    };
    let is_reconnecting = Memo::new(move |_| matches!(session.phase.get(), Phase::Reconnecting(_)));
    // The end of an answer is told once, and nothing before it.
    let told = Memo::new(move |told: Option<&Told>| match told {
        _ if session.is_busy() => Told::Busy,
        Some(Told::Busy | Told::Answered) => Told::Answered,
        None | Some(Told::Nothing) => Told::Nothing,
    });
    let usage = Memo::new(move |_| session.transcript.with(Transcript::usage));
    on_command(move |command| {
        let stops = command == Command::Close && session.phase.get_untracked() != Phase::Idle;
        if stops {
            session.stop();
        }
        stops
    });
    let trouble = Memo::new(move |_| match session.place.get() {
        Place::Missing => Some(Trouble::Missing),
        Place::Failed(_, words) => Some(Trouble::Failed(words)),
        Place::NewChat | Place::Loading(_) | Place::Open(_) | Place::Deleted => None,
    });
    let is_deleted = Memo::new(move |_| session.place.with(|place| *place == Place::Deleted));
    let conversation = move || {
        view! {
            {move || heading.get().map(|heading| view! { <h1 class="visually-hidden">{heading}</h1> })}
            <Thread session />
            <p class="visually-hidden" role="status">
                {move || (told.get() == Told::Answered).then(|| text.answered())}
            </p>
            <div class="dock">
                <div class="connection">
                    <span role="status">{reconnecting}</span>
                    {move || is_reconnecting.get().then(|| view! {
                        <button type="button" class="button small" data-testid="retry-now" on:click=move |_| session.retry()>
                            {text.retry_now()}
                        </button>
                    })}
                </div>
                {move || is_deleted.get().then(|| view! {
                    <p class="failure" role="alert" data-testid="deleted-notice">
                        {text.deleted_elsewhere()}
                        " "
                        <button
                            type="button"
                            class="button small"
                            data-testid="go-on-in-new-chat"
                            on:click=move |_| ways.open_new_chat.run(())
                        >
                            {text.new_chat()}
                        </button>
                    </p>
                })}
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
    };
    move || match trouble.get() {
        None => conversation().into_any(),
        Some(Trouble::Missing) => view! { <NothingHere message=text.not_found_conversation() /> }.into_any(),
        Some(Trouble::Failed(message)) => view! { <LoadFailed message retry=move || session.retry() /> }.into_any(),
    }
}

/// Why nothing is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Trouble {
    Missing,
    Failed(String),
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
