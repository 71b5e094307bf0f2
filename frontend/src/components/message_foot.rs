//! The quiet line under a message: its versions, what can be done with it, and what an answer cost. While a turn runs
//! nothing can be done with any message, and each button says why.

use std::time::Duration;

use leptos::{prelude::*, task::spawn_local};
use tallybook_protocol::{MessageId, MessageStatus};

use crate::{
    browser,
    components::{
        icon::{Draw, Icon},
        shown::{OptionalEntry, read},
        way_on::WayOn,
    },
    language::use_language,
    session::{Edited, Phase, Session, Step},
};

/// How long a button says that it did it.
const TOLD_FOR: Duration = Duration::from_secs(2);

/// The line under an answer; empty while it is written, so that nothing moves at its end.
#[component]
pub(crate) fn AnswerFoot(
    entry: OptionalEntry,
    session: Option<Session>,
    /// The way on that stands above it.
    way_on: Memo<Option<(MessageId, WayOn)>>,
) -> impl IntoView {
    let text = use_language();
    let is_done = Memo::new(move |_| read(entry, |entry| !entry.is_streaming()));
    let usage = Memo::new(move |_| read(entry, |entry| entry.usage));
    // After a failure there is one way on.
    let has_failed = move || read(entry, |entry| entry.status == MessageStatus::Failed) && way_on.get().is_some();
    let content = move || {
        is_done.get().then(|| {
            view! {
                {session.map(|session| view! { <Versions entry session /> })}
                <Show when=move || !read(entry, |entry| entry.text.is_empty())>
                    <CopyAnswer entry />
                </Show>
                {session.map(|session| {
                    let regenerate = move || session.regenerate(read(entry, |entry| entry.id));
                    view! {
                        <Show when=move || !has_failed()>
                            <Action session label=text.regenerate() icon=Icon::Again name="regenerate" run=regenerate />
                        </Show>
                    }
                })}
                {move || usage.get().map(|usage| view! {
                    <span class="usage" data-testid="usage">{text.usage(usage)}</span>
                })}
            }
        })
    };
    view! { <footer class="message-foot">{content}</footer> }.into_any()
}

/// The line under a message of the reader's own.
#[component]
pub(crate) fn QuestionFoot(entry: OptionalEntry, session: Session) -> impl IntoView {
    let text = use_language();
    let edit = move || {
        let edited = read(entry, |entry| Some(Edited { id: entry.id, text: entry.text.clone() }));
        session.begin_edit(edited);
    };
    view! {
        <footer class="message-foot">
            <Versions entry session />
            <Action session label=text.edit() icon=Icon::Pencil name="edit" run=edit />
        </footer>
    }
    .into_any()
}

/// Something that can be done with a message while no turn runs.
#[component]
fn Action(
    session: Session,
    label: &'static str,
    icon: Icon,
    name: &'static str,
    run: impl Fn() + Copy + 'static,
) -> impl IntoView {
    let text = use_language();
    view! {
        <button
            type="button"
            class="button icon-only quiet small"
            data-testid=name
            aria-label=label
            // Still found by the keyboard, so that the reason is too.
            aria-disabled=move || session.is_busy().then_some("true")
            title=move || if session.is_busy() { text.wait_for_answer() } else { label }
            on:click=move |_| if session.phase.get_untracked() == Phase::Idle { run() }
        >
            <Draw icon />
        </button>
    }
    .into_any()
}

#[component]
fn CopyAnswer(entry: OptionalEntry) -> impl IntoView {
    let text = use_language();
    let copied = RwSignal::new(false);
    let copy = move |_| {
        let content = read(entry, |entry| entry.text.clone());
        spawn_local(async move {
            // The message may be gone when the button has been told of long enough.
            if browser::copy(&content).await.is_ok() && copied.try_set(true).is_none() {
                browser::sleep(TOLD_FOR).await;
                copied.try_set(false);
            }
        });
    };
    let label = move || if copied.get() { text.copied() } else { text.copy_answer() };
    view! {
        <button type="button" class="button icon-only quiet small" data-testid="copy-answer" aria-label=label title=label on:click=copy>
            {move || if copied.get() { view! { <Draw icon=Icon::Check /> } } else { view! { <Draw icon=Icon::Copy /> } }}
        </button>
    }
    .into_any()
}

/// Which of how many versions is shown, and the way to the others; nothing when there is one.
#[component]
fn Versions(entry: OptionalEntry, session: Session) -> impl IntoView {
    let text = use_language();
    let place = Memo::new(move |_| {
        read(entry, |entry| {
            let at = entry.siblings.iter().position(|sibling| *sibling == entry.id)?;
            Some((at, entry.siblings.clone()))
        })
    });
    let button = move |step: Step, label: &'static str, at: usize, siblings: Vec<MessageId>| {
        let at_end = step.from(at, &siblings).is_none();
        let id = siblings[at];
        view! {
            <button
                type="button"
                class="button icon-only quiet small"
                class:older=step == Step::Older
                id=step.button(id)
                data-testid=step.name()
                aria-label=label
                disabled=at_end
                aria-disabled=move || session.is_busy().then_some("true")
                title=move || if session.is_busy() { text.wait_for_answer() } else { label }
                on:click=move |_| session.step(id, &siblings, step)
            >
                <Draw icon=Icon::Chevron />
            </button>
        }
        .into_any()
    };
    move || {
        place.get().map(|(at, siblings)| {
            let shown = format!("{}/{}", at + 1, siblings.len());
            view! {
                <span class="versions" role="group" aria-label=text.versions()>
                    {button(Step::Older, text.older_version(), at, siblings.clone())}
                    <span data-testid="version">{shown}</span>
                    {button(Step::Newer, text.newer_version(), at, siblings)}
                </span>
            }
        })
    }
}
