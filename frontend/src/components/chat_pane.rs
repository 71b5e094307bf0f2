//! The open conversation or new chat: its messages, and the message field below them.

pub(crate) mod approval_buttons;
pub(crate) mod approval_note;
pub(crate) mod budget_notice;
pub(crate) mod connection_note;
pub(crate) mod earlier_messages;
pub(crate) mod early_find;
pub(crate) mod empty_state;
pub(crate) mod find_bar;
pub(crate) mod skeleton;
pub(crate) mod thread;

use leptos::{prelude::*, tachys::html::class::class};
use tallybook_protocol::ToolCallId;
use uuid::Uuid;

use crate::{
    browser,
    components::{
        chat_pane::{
            approval_buttons::go_to_first,
            approval_note::{ApprovalNote, use_waiting_calls},
            budget_notice::MayHaveBudgets,
            connection_note::connection_note,
            early_find::{FindState, early_field},
            thread::Thread,
        },
        composer::Composer,
        dialogs::{file_viewer::FileView, usage_sheet::ShownUsage},
        frame::unarchive,
        lazy::{LazyPart, MessagePart, lazy},
        message::shown::{EditedFiles, Played, Used},
        parts::{
            commands::on_command,
            ids::DOCK_ID,
            nothing_here::{LoadFailed, NothingHere},
            own_element::Attached,
        },
    },
    conversation_list::ConversationList,
    feed::Feed,
    goal::Goal,
    i18n::page_title,
    keys::Command,
    language::use_language,
    mount_schedule::scheduled,
    notification,
    reactive::{effect, memo},
    session::{Answer, AnswerEnd, FilesOf, Phase, Place, Session},
    transcript::Transcript,
};

/// ID of the total usage of the conversation.
const USAGE_ID: &str = "usage-in-all";

/// A conversation, or a new chat.
#[component]
pub(crate) fn ChatPane(
    session: Session,
    /// The list, which has the current title.
    list: ConversationList,
    /// The conversation that is open.
    current: Signal<Option<Uuid>>,
    /// Its title, once it has one.
    title: Signal<Option<String>>,
    feed: Feed,
    find: FindState,
    /// The message to go to.
    goal: Signal<Option<Goal>>,
    /// Opens a new chat.
    open_new_chat: Callback<()>,
) -> impl IntoView {
    let text = use_language();
    effect(move || goal.get().into_iter().for_each(|goal| session.go_to(goal)));
    on_cleanup(move || find.open.set(false));
    effect(move || session.set_leaving(current.get().is_some_and(|uuid| list.is_leaving(uuid))));
    let has_begun = memo(move |_| {
        session.unstored.with(Option::is_some) || session.transcript.with(|transcript| !transcript.entries().is_empty())
    });
    // A conversation that was just created is not in the list yet. Before that, the greeting is the heading.
    let heading = memo(move |_| title.get().or_else(|| has_begun.get().then(|| text.new_chat().to_owned())));
    let tab = memo(move |_| match session.place.get() {
        Place::Missing => page_title(Some(text.not_found_title())),
        Place::Failed(..) => page_title(Some(text.failed_title())),
        Place::NewChat | Place::Loading(_) | Place::Open(_) | Place::Deleted => {
            title.with(|title| page_title(title.as_deref()))
        }
    });
    // A screen reader announces the end of an answer once, and no earlier answer.
    let announcement = memo(move |announcement: Option<&Announcement>| match announcement {
        Some(busy @ Announcement::Busy { .. }) if session.is_busy() => busy.clone(),
        _ if session.is_busy() => Announcement::Busy { before: session.last_answer() },
        Some(Announcement::Busy { before }) => {
            // If the message was not sent, the last answer is an earlier one.
            let answer = session.last_answer().filter(|answer| Some(answer) != before.as_ref());
            Announcement::Ended(answer.and_then(|answer| answer.end()))
        }
        Some(Announcement::Ended(end)) => Announcement::Ended(*end),
        None | Some(Announcement::Nothing) => Announcement::Nothing,
    });
    let waiting = use_waiting_calls(session);
    name_tab(tab, announcement, waiting);
    // The server-rendered total stays until the browser knows it.
    let drawn_usage = browser::drawn_by_server(USAGE_ID).and_then(|usage| usage.text_content());
    let usage = memo(move |_| {
        let usage = session.transcript.with(Transcript::usage).map(|usage| text.total_usage(usage));
        usage.or_else(|| drawn_usage.clone().filter(|_| session.is_loading()))
    });
    let found_in = memo(move |_| match session.place.get() {
        Place::Open(uuid) => Some(uuid).filter(|_| find.open.get()),
        _ => None,
    });
    let played = Played(RwSignal::new(None));
    provide_context(played);
    let used: ShownUsage = RwSignal::new(None);
    provide_context(Used(used));
    provide_context(EditedFiles(Callback::new(edited_files)));
    let file_view = FileView(RwSignal::new(None));
    provide_context(file_view);
    let is_played = memo(move |_| match session.place.get() {
        Place::Open(uuid) => played.0.get().map(|message| (uuid, message)),
        _ => None,
    });
    load_code_at_change(session, list, current, find);
    hear_keys(session, find, waiting);
    forget_find_bar(session, find);
    let trouble = memo(move |_| match session.place.get() {
        Place::Missing => Some(Trouble::Missing),
        Place::Failed(_, words) => Some(Trouble::Failed(words)),
        Place::NewChat | Place::Loading(_) | Place::Open(_) | Place::Deleted => None,
    });
    let may_have_budgets = use_context::<MayHaveBudgets>().is_some_and(|MayHaveBudgets(may)| may);
    let has_queue = memo(move |_| session.queue.with(|queue| !queue.messages.is_empty()));
    let dock = move || {
        Attached::new("div", DOCK_ID).with(class("dock")).containing(view! {
            {connection_note(session, feed)}
            {notices(session, list, current, open_new_chat)}
            <ApprovalNote session waiting />
            {may_have_budgets.then(|| lazy(move || Some(LazyPart::BudgetNotice(session))))}
            {lazy(move || has_queue.get().then_some(MessagePart::Queue(session)))}
            <Composer session />
            {move || usage.get().map(|usage| view! {
                <p class="usage-in-all" id=USAGE_ID data-testid="usage-in-all">{usage}</p>
            })}
            <noscript>
                <p class="demo">{text.needs_javascript()}</p>
            </noscript>
        })
    };
    let conversation = move || {
        view! {
            {move || heading.get().map(|heading| view! { <h1 class="visually-hidden">{heading}</h1> })}
            {lazy(move || {
                is_played.get().map(|(conversation, message)| LazyPart::Playback { conversation, message, played })
            })}
            {lazy(move || file_view.0.get().map(|viewed| LazyPart::FileViewer { viewed, shown: file_view }))}
            {lazy(move || used.get().map(|of| LazyPart::Usage { of, shown: used }))}
            {early_field(find, session)}
            {lazy(move || found_in.get().map(|conversation| LazyPart::FindBar { conversation, session, find }))}
            {scheduled(move || view! { <Thread session /> }.into_any())}
            <p class="visually-hidden" role="status">
                {move || match announcement.get() {
                    Announcement::Ended(Some(end)) => Some(text.answer_end(end)),
                    Announcement::Ended(None) | Announcement::Busy { .. } | Announcement::Nothing => None,
                }}
            </p>
            {scheduled(dock)}
        }
    };
    move || match trouble.get() {
        None => conversation().into_any(),
        Some(Trouble::Missing) => view! { <NothingHere message=text.not_found_conversation() /> }.into_any(),
        Some(Trouble::Failed(message)) => view! { <LoadFailed message retry=move || session.retry() /> }.into_any(),
    }
}

/// Loads the code of messages if the list shows that the conversation is no longer as the server rendered it, or if the
/// user opens the find bar. Otherwise it loads when a message is used.
fn load_code_at_change(session: Session, list: ConversationList, current: Signal<Option<Uuid>>, find: FindState) {
    let state = memo(move |_| {
        let uuid = current.get()?;
        // A conversation that was deleted elsewhere is no longer in the list, but its summary is still known.
        let summary = list.find(uuid)?;
        Some((summary.updated_at.timestamp_micros(), summary.is_idle(), list.is_listed(uuid)))
    });
    Effect::new(move |before: Option<Option<(i64, bool, bool)>>| {
        let now = state.get();
        let is_changed = matches!((before.flatten(), now), (Some(before), Some(now)) if before != now);
        if is_changed || find.open.get() {
            session.want_code();
        }
        now
    });
}

/// Closes the find bar of a conversation that is still loading if loading fails, or if the user types in the message
/// field meanwhile: the find bar would take the focus.
fn forget_find_bar(session: Session, find: FindState) {
    Effect::new(move |written: Option<String>| {
        let draft = session.draft.get();
        let is_forgotten = session.place.with(|place| match place {
            Place::Open(_) => false,
            Place::Loading(_) => written.is_some_and(|written| written != draft),
            Place::NewChat | Place::Missing | Place::Failed(..) | Place::Deleted => true,
        });
        if is_forgotten && find.open.get_untracked() {
            find.open.set(false);
        }
        draft
    });
}

/// Handles keys: opens the find bar, goes to a call that waits for approval, or stops the answer.
fn hear_keys(session: Session, find: FindState, waiting: Memo<Vec<ToolCallId>>) {
    on_command(move |command| {
        // In a conversation that is still loading, the find bar opens once it has loaded.
        if command == Command::Find && untrack(|| session.conversation()).is_some() {
            find.open.set(true);
            return true;
        }
        if command == Command::Close && find.is_early() {
            find.close();
            return true;
        }
        if command == Command::Close && session.phase.get_untracked() == Phase::Awaiting {
            // Escape goes to the call and does not deny it. The focus stays in a field, because the next digit would
            // decide.
            if !browser::has_focus_within("input, textarea") {
                go_to_first(waiting);
            }
            return true;
        }
        let stops = command == Command::Close && session.phase.get_untracked() != Phase::Idle;
        if stops {
            session.stop();
        }
        stops
    });
}

/// Sets the tab's title, with a badge if calls wait for approval or an answer ended unseen. Also shows notifications of
/// these, if the user enabled them.
fn name_tab(tab: Memo<String>, announcement: Memo<Announcement>, waiting: Memo<Vec<ToolCallId>>) {
    let text = use_language();
    let unseen = RwSignal::new(false);
    let waits = memo(move |_| waiting.with(|waiting| !waiting.is_empty()));
    effect(move || {
        let badge = if waits.get() {
            "(!) "
        } else if unseen.get() {
            "● "
        } else {
            ""
        };
        browser::name_tab(&format!("{badge}{}", tab.get()));
    });
    effect(move || {
        if waits.get() && browser::is_hidden() {
            notification::show(text.approval_needed(), &tab.get_untracked());
        }
    });
    effect(move || {
        if matches!(announcement.get(), Announcement::Ended(Some(_))) && browser::is_hidden() {
            unseen.set(true);
            notification::show(text.answer_ended(), &tab.get_untracked());
        }
    });
    effect(move || {
        let seen = window_event_listener_untyped("visibilitychange", move |_| {
            if !browser::is_hidden() {
                unseen.set(false);
            }
        });
        on_cleanup(move || seen.remove());
    });
}

/// Renders the files of the question that is being edited.
fn edited_files(session: Session) -> AnyView {
    lazy(move || {
        let has_files = session.with_files(FilesOf::Edit, |files| !files.is_empty());
        has_files.then_some(LazyPart::Attachments { session, of: FilesOf::Edit, pasted: None })
    })
}

/// Renders the notices about the conversation, and about the last request.
fn notices(
    session: Session,
    list: ConversationList,
    current: Signal<Option<Uuid>>,
    open_new_chat: Callback<()>,
) -> AnyView {
    let text = use_language();
    let is_deleted = memo(move |_| session.place.with(|place| *place == Place::Deleted));
    let is_archived = memo(move |_| {
        current.get().and_then(|uuid| list.find(uuid)).filter(|item| item.archived).map(|item| item.uuid)
    });
    view! {
        {move || is_deleted.get().then(|| deleted_notice(open_new_chat))}
        {move || is_archived.get().map(|uuid| archived_notice(uuid, list))}
        // `SignedOut` already shows that the session has ended.
        {move || session.notice.get().filter(|notice| notice != text.signed_out()).map(|notice| view! {
            <p class="failure" role="alert" data-testid="notice">{notice}</p>
        })}
    }
    .into_any()
}

fn deleted_notice(open_new_chat: Callback<()>) -> AnyView {
    let text = use_language();
    view! {
        <p class="failure" role="alert" data-testid="deleted-notice">
            {text.deleted_elsewhere()}
            " "
            <button
                type="button"
                class="button small"
                data-testid="go-on-in-new-chat"
                on:click=move |_| open_new_chat.run(())
            >
                {text.new_chat()}
            </button>
        </p>
    }
    .into_any()
}

fn archived_notice(uuid: Uuid, list: ConversationList) -> AnyView {
    let text = use_language();
    view! {
        <p class="note archived-note" role="status" data-testid="archived-notice">
            {text.archived_notice()}
            <button
                type="button"
                class="button small"
                data-testid="unarchive"
                on:click=move |_| unarchive(list, uuid)
            >
                {text.unarchive()}
            </button>
        </p>
    }
    .into_any()
}

/// The reason why the conversation cannot be shown.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Trouble {
    Missing,
    Failed(String),
}

/// The announcements of a screen reader.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Announcement {
    Nothing,
    /// An answer is being written. Before it, this was the last one.
    Busy {
        before: Option<Answer>,
    },
    /// The answer ended like this; `None` if there was no answer.
    Ended(Option<AnswerEnd>),
}
