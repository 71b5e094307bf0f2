//! The quiet line under a message: its versions, what can be done with it, when it was written, and by which model an
//! answer was and what it cost. While a turn runs
//! nothing can be done with any message, and each button says why.

use std::time::Duration;

use leptos::{prelude::*, task::spawn_local};
use tallybook_protocol::{MessageId, MessageStatus, Usage};

use crate::{
    browser,
    components::{
        composer::go_on_writing,
        explanation::{ExplanationNote, explain_button},
        icon::{Draw, Icon},
        model_picker::Author,
        shown::{OptionalEntry, Played, Used, read},
        times::when,
        usage_sheet::UsageOf,
        way_on::WayOn,
    },
    goal::element_id,
    language::{Language, use_language},
    models::Models,
    reactive::memo,
    session::{Edited, Phase, Place, Session, Step},
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
    let is_done = memo(move |_| read(entry, |entry| !entry.is_streaming()));
    let usage = memo(move |_| read(entry, |entry| entry.usage));
    let models = use_context::<Models>();
    let played = use_context::<Played>();
    let author = memo(move |_| read(entry, |entry| entry.author.clone()));
    // After a failure there is one way on.
    let has_failed = move || read(entry, |entry| entry.status == MessageStatus::Failed) && way_on.get().is_some();
    let explanation = RwSignal::new(None);
    let content = move || {
        is_done.get().then(|| {
            view! {
                {session.map(|session| view! { <Versions entry session /> })}
                <Show when=move || !read(entry, |entry| entry.text.is_empty())>
                    {copy_answer(entry, text)}
                </Show>
                {session.map(|_| copy_link(entry, text))}
                {session.map(|session| {
                    let regenerate = move || {
                        session.regenerate(read(entry, |entry| entry.id));
                        go_on_writing();
                    };
                    view! {
                        <Show when=move || !has_failed()>
                            <Action session label=text.regenerate() icon=Icon::Again name="regenerate" run=regenerate />
                        </Show>
                    }
                })}
                {session.map(|session| {
                    let has_calls = move || read(entry, |entry| entry.calls().next().is_some());
                    let id = move || read(entry, |entry| entry.id);
                    view! {
                        <Show when=has_calls>{explain_button(session, id, explanation, text)}</Show>
                    }
                })}
                {session.zip(played).map(|(session, Played(played))| {
                    let play = move || played.set(Some(read(entry, |entry| entry.id)));
                    view! { <Action session label=text.replay() icon=Icon::Play name="play-again" run=play /> }
                })}
                {move || author.get().map(|(provider, model)| match (session, models) {
                    (Some(session), Some(models)) if models.is_choice() => {
                        view! { <Author entry session models name=model /> }.into_any()
                    }
                    _ => {
                        let told = text.model(&provider, &model);
                        view! { <span class="author" data-testid="author" title=told>{model}</span> }.into_any()
                    }
                })}
                {move || usage.get().map(|usage| view! {
                    {session.map_or_else(
                        || view! { <span class="usage" data-testid="usage">{text.usage(usage)}</span> }.into_any(),
                        |session| usage_button(entry, session, usage, text),
                    )}
                })}
                {time_of(entry, text)}
            }
        })
    };
    view! {
        <footer class="message-foot">{content}</footer>
        <ExplanationNote explanation />
    }
    .into_any()
}

/// What an answer took, as the button that shows for what.
fn usage_button(entry: OptionalEntry, session: Session, usage: Usage, text: Language) -> AnyView {
    let used = use_context::<Used>();
    let show = move |_| {
        if let (Place::Open(conversation), Some(Used(shown))) = (session.place.get_untracked(), used) {
            shown.set(Some(UsageOf { conversation, message: Some(read(entry, |entry| entry.id)) }));
        }
    };
    view! {
        <button type="button" class="button quiet small usage" data-testid="usage" title=text.usage_show() on:click=show>
            {text.usage(usage)}
        </button>
    }
    .into_any()
}

/// The line under a message of the reader's own.
#[component]
pub(crate) fn QuestionFoot(entry: OptionalEntry, session: Session) -> impl IntoView {
    let text = use_language();
    let edit = move || {
        let edited = read(entry, |entry| Some(Edited { id: entry.id, text: entry.text.clone(), is_changed: false }));
        session.begin_edit(edited);
    };
    view! {
        <footer class="message-foot">
            {time_of(entry, text)}
            <Versions entry session />
            {copy_link(entry, text)}
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

/// When it was whole, or sent. What was heard as it happened, happened now.
fn time_of(entry: OptionalEntry, text: Language) -> impl IntoView {
    let heard = browser::now();
    let at = memo(move |_| read(entry, |entry| entry.at_ms));
    let time = move || when(at.get().unwrap_or(heard), text);
    view! { <span class="when">{time}</span> }
}

fn copy_answer(entry: OptionalEntry, text: Language) -> AnyView {
    let content = move || read(entry, |entry| entry.answer().to_owned());
    view! { <CopyIcon name="copy-answer" icon=Icon::Copy label=text.copy_answer() content=Box::new(content) /> }
        .into_any()
}

fn copy_link(entry: OptionalEntry, text: Language) -> AnyView {
    let content = move || browser::address_of(&read(entry, |entry| element_id(entry.id)));
    view! { <CopyIcon name="copy-link" icon=Icon::Link label=text.copy_link() content=Box::new(content) /> }.into_any()
}

/// Copies something of a message.
#[component]
fn CopyIcon(name: &'static str, icon: Icon, label: &'static str, content: Box<dyn Fn() -> String>) -> impl IntoView {
    let text = use_language();
    let copied = RwSignal::new(false);
    let copy = move |_| {
        let content = content();
        spawn_local(async move {
            // The message may be gone when the button has been told of long enough.
            if browser::copy(&content).await.is_ok() && copied.try_set(true).is_none() {
                browser::sleep(TOLD_FOR).await;
                copied.try_set(false);
            }
        });
    };
    let label = move || if copied.get() { text.copied() } else { label };
    view! {
        <button type="button" class="button icon-only quiet small" data-testid=name aria-label=label title=label on:click=copy>
            {move || view! { <Draw icon=if copied.get() { Icon::Check } else { icon } /> }}
        </button>
    }
    .into_any()
}

/// Which of how many versions is shown, and the way to the others; nothing when there is one.
#[component]
fn Versions(entry: OptionalEntry, session: Session) -> impl IntoView {
    let text = use_language();
    let place = memo(move |_| {
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
