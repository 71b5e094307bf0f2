//! The scrolling area with the messages of a conversation. It follows the newest text unless the user scrolled up.

mod call_lines;
mod following;
mod room;

use call_lines::{step, toggle_calls};
use following::Following;
use leptos::{
    ev::{self, KeyboardEvent, MouseEvent, on},
    html,
    prelude::*,
    tachys::html::{class::class, node_ref::node_ref},
    task::{spawn_local, tick},
};
use room::Room;
use tallybook_markdown::typeset;
use tallybook_protocol::MessageId;
use wasm_bindgen::JsCast;
use web_sys::{Element, HtmlElement};

use crate::{
    browser,
    components::{
        chat_pane::{earlier_messages::EarlierMessages, empty_state::EmptyState, skeleton::Skeleton},
        lazy::{self, MessagePart, lazy},
        parts::{
            commands::on_command,
            icon::{Draw, Icon},
            ids::{EARLIER_ID, MESSAGES_ID},
            own_element::Attached,
            typing::focus_composer,
        },
    },
    keys::Command,
    language::use_language,
    mount_schedule::{in_next_frame, in_place},
    reactive::{effect, memo},
    reveal::reveal,
    scroll::{THREAD_ID, is_near_end},
    session::{Loading, Session},
    transcript::Transcript,
};

/// Distance from the first loaded message, in heights of the area, within which earlier messages are loaded.
const NEAR_START: i32 = 2;

/// Number of messages whose heights are measured together.
const MEASURED_AT_ONCE: usize = 8;

/// Scrolls to the end whenever something new is shown, if the user is at the end. The user's own messages are always
/// shown.
fn follow_new_text(session: Session, following: Following) {
    effect(move || {
        if session.unstored.with(Option::is_some) {
            following.begin_at_end();
        }
    });
    effect(move || {
        session.transcript.track();
        session.unstored.track();
        session.notice.track();
        lazy::has_messages();
        // What the user pressed is about to open, and should stay where it is.
        let is_pressed = browser::is_press_kept(MESSAGES_ID);
        if following.is_on.get_untracked() && !is_pressed {
            // Effects run before the text is laid out; the next frame has it.
            in_next_frame(move || following.to_end());
        }
    });
}

/// The messages.
#[component]
pub(crate) fn Thread(session: Session) -> impl IntoView {
    let text = use_language();
    let area = NodeRef::<html::Div>::new();
    let server_drew = browser::drawn_by_server(THREAD_ID).and_then(|area| area.dyn_into::<HtmlElement>().ok());
    let is_drawn = server_drew.is_some();
    // A memo, because most changes only add text to one message.
    let ids = memo(move |_| {
        session.transcript.with(|transcript| transcript.entries().iter().map(|entry| entry.id).collect::<Vec<_>>())
    });
    let has_messages = memo(move |_| ids.with(|ids| !ids.is_empty()) || session.unstored.with(Option::is_some));
    let is_loading = memo(move |_| session.is_loading());
    let is_attached = RwSignal::new(!is_drawn);
    let has_earlier = has_earlier(session, is_attached);
    let is_empty =
        memo(move |_| ids.with(Vec::is_empty) && !has_earlier.get() && session.unstored.with(Option::is_none));

    // The greeting is read from its beginning, so the view does not follow its end.
    let is_greeting = memo(move |_| is_empty.get() && !is_loading.get());

    let is_in_place = RwSignal::new(false);
    effect(move || {
        spawn_local(async move {
            in_place().await;
            is_in_place.try_set(true);
            // The messages may stay as the server rendered them for a long time: their code loads when it is needed.
            browser::drawn_within(MESSAGES_ID, ".prose:not([aria-busy])").iter().for_each(typeset);
        });
    });
    let room = Room::new();
    let following = Following::new(server_drew.as_ref(), area, room, is_greeting);
    follow_new_text(session, following);
    reveal_what_is_gone_to(session, following.is_on);
    after_earlier_messages(session, is_loading, is_attached, area);
    measure(session, ids, room, area, following.is_on);
    hear_commands(area, session);
    let earlier = view! {
        <Show when=move || has_earlier.get()>
            <EarlierMessages session />
        </Show>
    };
    let messages = view! {
        <Show when=move || is_greeting.get()>
            <EmptyState session />
        </Show>
        // The server-rendered messages stay meanwhile.
        <Show when=move || is_loading.get() && !is_drawn><Skeleton /></Show>
        {Attached::new("div", EARLIER_ID).with(class("earlier-place")).containing(earlier)}
        {lazy(move || has_messages.get().then_some(MessagePart::All { session, ids }))}
        {move || first_question(session).map(|question| {
            let has_long_word = tallybook_nodes::has_long_word(&question).then_some("");
            view! { <p class="first-question" dir="auto" data-long-word=has_long_word>{question}</p> }
        })}
    };
    let content = view! {
        {Attached::new("div", MESSAGES_ID).with(class("messages")).containing(messages)}
        <div class="room" node_ref=room.place></div>
    };
    let thread = Attached::new("div", THREAD_ID)
        .with(class("thread"))
        .attr("role", "log")
        .attr("aria-label", text.messages_label())
        // A screen reader announces only new text, and not what the page builds in place of the server's.
        .attr("aria-live", move || {
            (!is_in_place.get() || is_loading.get() || session.earlier.get() == Loading::Running).then_some("off")
        })
        .attr("tabindex", "0")
        .with(node_ref(area))
        .with(on(ev::click, move |event| {
            if !is_in_card(&event) {
                stop_following(area, following.is_on);
            }
        }))
        .with(on(ev::keydown, move |event| {
            if goes_to_end(&event) {
                // The browser would scroll to the end as it was when the key was pressed.
                event.prevent_default();
                following.hold_at_end();
            } else {
                following.release();
            }
        }))
        .with(on(ev::wheel, move |_| following.release()))
        .with(on(ev::pointerdown, move |_| following.release()))
        .with(on(ev::scroll, move |_| {
            if let Some(area) = area.get_untracked() {
                following.scrolled(&area);
                if is_near_start(&area)
                    && has_earlier.get_untracked()
                    && session.earlier.get_untracked() == Loading::Idle
                {
                    session.load_earlier();
                }
            }
        }));
    view! {
        {thread.containing(content)}
        <Jump
            session
            following=following.is_on
            is_greeting
            jump=move || {
                following.hold_at_end();
                focus_composer();
            }
        />
    }
    .into_any()
}

/// Returns the text of a new chat's first message while the code that renders messages is not loaded. On a slow
/// network, this takes seconds. Tracked.
fn first_question(session: Session) -> Option<String> {
    if lazy::has_messages() {
        return None;
    }
    let unstored = session.unstored.with(|message| message.as_ref().map(|message| message.content.clone()));
    let stored = || {
        session.transcript.with(|transcript| match transcript.entries() {
            [question] | [question, _] => Some(question.text.clone()),
            _ => None,
        })
    };
    unstored.or_else(stored).map(tallybook_nodes::bounded_text)
}

/// Reacts to messages that are added, removed, or moved.
fn measure(
    session: Session,
    ids: Memo<Vec<MessageId>>,
    room: Room,
    area: NodeRef<html::Div>,
    following: RwSignal<bool>,
) {
    effect(move || {
        ids.track();
        lazy::has_messages();
        // Each measurement lays out all messages, so it waits for the last message, or for several.
        if session.earlier.get() != Loading::Running || ids.with_untracked(|ids| ids.len() % MEASURED_AT_ONCE == 0) {
            measure_new(area);
        }
        remake(room, area, following);
    });
}

fn reveal_what_is_gone_to(session: Session, following: RwSignal<bool>) {
    effect(move || {
        if let Some(goal) = session.revealed.get() {
            following.set(false);
            spawn_local(async move {
                if let Ok(shown) = reveal(goal).await {
                    shown.await;
                }
            });
        }
    });
}

/// Handles commands about calls.
fn hear_commands(area: NodeRef<html::Div>, session: Session) {
    on_command(move |command| match command {
        Command::PreviousCall => step(area, -1),
        Command::NextCall => step(area, 1),
        Command::ToggleCalls => toggle_calls(area, session),
        _ => false,
    });
}

/// Returns `true` while the button for earlier messages is shown. Until the page is attached to all server-rendered
/// messages, the transcript grows by earlier ones. A button above them that the server did not draw would move what the
/// user reads.
fn has_earlier(session: Session, is_attached: RwSignal<bool>) -> Memo<bool> {
    let server_drew_it = browser::drawn_by_server(EARLIER_ID).is_some_and(|place| place.child_element_count() > 0);
    memo(move |_| if is_attached.get() { session.transcript.with(Transcript::has_earlier) } else { server_drew_it })
}

/// Removes the server-rendered messages that the page did not adopt, once all messages are mounted. If the user
/// scrolled to the first one meanwhile, loads earlier ones.
fn after_earlier_messages(
    session: Session,
    is_loading: Memo<bool>,
    is_attached: RwSignal<bool>,
    area: NodeRef<html::Div>,
) {
    Effect::new(move |were_coming: Option<bool>| {
        let earlier = session.earlier.get();
        if !is_loading.get() && earlier != Loading::Running {
            spawn_local(async move {
                tick().await;
                browser::replace_stale();
                browser::remove_stale();
                is_attached.try_set(true);
                browser::replay_presses();
            });
        }
        if were_coming == Some(true) && earlier == Loading::Idle {
            in_next_frame(move || {
                if area.try_get_untracked().flatten().is_some_and(|area| is_near_start(&area)) {
                    session.load_earlier();
                }
            });
        }
        earlier == Loading::Running
    });
}

/// Stops following when the user opens something, so that the next text does not move it away.
fn stop_following(area: NodeRef<html::Div>, following: RwSignal<bool>) {
    in_next_frame(move || {
        if let Some(area) = area.try_get_untracked().flatten()
            && following.get_untracked()
            && !is_near_end(&area)
        {
            following.set(false);
        }
    });
}

/// The button that leads back to the newest text.
#[component]
fn Jump(
    session: Session,
    following: RwSignal<bool>,
    /// `true` while only the greeting of a new chat is shown.
    is_greeting: Memo<bool>,
    jump: impl Fn() + Copy + Send + Sync + 'static,
) -> impl IntoView {
    let text = use_language();
    // The button would cover those of an approval card, and the note below leads there.
    let is_offered = memo(move |_| {
        let asks = |transcript: &Transcript| {
            let last = transcript.entries().last();
            last.is_some_and(|last| last.asks_for_decisions() && last.calls().any(|call| call.awaits_decision()))
        };
        !following.get() && !is_greeting.get() && !session.transcript.with(asks)
    });
    view! {
        <div class="jump-place">
            <Show when=move || is_offered.get()>
                <button type="button" class="button small jump" data-testid="jump" on:click=move |_| jump()>
                    <Draw icon=Icon::ArrowDown />
                    {text.jump_to_newest()}
                </button>
            </Show>
        </div>
    }
    .into_any()
}

/// Keeps room for another version, also if the user is not at the end. If a shorter version is completely visible,
/// shows its end.
fn remake(room: Room, area: NodeRef<html::Div>, following: RwSignal<bool>) {
    in_next_frame(move || {
        if let Some(area) = area.try_get_untracked().flatten() {
            room.make(&area);
            if !following.get_untracked() && area.scroll_height() <= area.client_height() {
                following.set(true);
            }
        }
    });
}

/// Excludes new messages from layout while they are invisible, once their heights are known. They are laid out in the
/// next frame and marked in the one after.
fn measure_new(area: NodeRef<html::Div>) {
    in_next_frame(move || {
        let area = area.try_get_untracked().flatten();
        let Some(found) = area.and_then(|area| area.query_selector_all(".message:not([data-measured])").ok()) else {
            return;
        };
        in_next_frame(move || {
            for message in (0..found.length()).filter_map(|at| found.item(at)?.dyn_into::<Element>().ok()) {
                let _ = message.set_attribute("data-measured", "");
            }
        });
    });
}

/// Returns `true` for a key press that scrolls the messages to their end.
fn goes_to_end(event: &KeyboardEvent) -> bool {
    let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
    let has_own_end =
        target.is_some_and(|target| target.closest("input, textarea, select, pre").is_ok_and(|own| own.is_some()));
    let is_end = match event.key().as_str() {
        "End" => !event.meta_key(),
        "ArrowDown" => event.meta_key(),
        _ => false,
    };
    is_end && !has_own_end && !event.shift_key() && !event.alt_key() && !event.default_prevented()
}

/// Returns `true` for a click in a card, whose buttons may be gone by now: a decision opens nothing to be read there.
fn is_in_card(event: &MouseEvent) -> bool {
    browser::is_within(event, ".approval, .approval-choices, .approval-denial")
}

fn is_near_start(area: &HtmlElement) -> bool {
    area.scroll_top() <= NEAR_START * area.client_height()
}
