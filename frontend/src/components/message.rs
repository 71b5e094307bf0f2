//! One message: a bubble with plain text for a person's, Markdown with items between for the assistant's. Nothing in it is
//! ever read as HTML.

use std::borrow::Cow;

use leptos::prelude::*;
use tallybook_protocol::{MessageId, MessageStatus, Role};

use crate::{
    components::{
        copy,
        each::Each,
        edit_form::EditForm,
        item_run::ItemRun,
        items::Items,
        message_foot::{AnswerFoot, QuestionFoot},
        prose::Prose,
        shown::{OptionalEntry, Shown, read},
        thinking::Thinking,
        way_on::{WayOnButton, use_way_on},
    },
    goal::element_id,
    language::{Language, use_language},
    markdown::Stretch,
    reactive::memo,
    session::Session,
    transcript::{Entry, ItemKey, Segment, Tally},
    waiting::Waiting,
};

/// A message of the transcript, as it changes.
#[component]
pub(crate) fn Message(
    /// Its row id.
    id: MessageId,
    /// The conversation.
    session: Session,
) -> impl IntoView {
    let shown = Shown { entry: session.entry(id), expand_all: session.expand_all, session: Some(session) };
    view! { <ShownMessage id shown /> }
}

/// A message, with or without a session.
#[component]
pub(crate) fn ShownMessage(
    /// Its row id.
    id: MessageId,
    shown: Shown,
) -> impl IntoView {
    let role = shown.entry.with_untracked(|entry| entry.as_ref().map_or(Role::Assistant, |entry| entry.role));
    match role {
        Role::User => view! { <UserMessage id shown /> }.into_any(),
        Role::Assistant => view! { <AssistantMessage id shown /> }.into_any(),
    }
}

/// A message that the server has not confirmed yet.
#[component]
pub(crate) fn UnstoredMessage(content: String) -> impl IntoView {
    let text = use_language();
    view! {
        <article class="message" data-role="user" data-status="sending">
            <h2 class="visually-hidden">{text.you_said()}</h2>
            {bubble(content)}
        </article>
        <p class="thinking" role="status"><span class="spinner" aria-hidden="true"></span>{text.sending()}</p>
    }
}

#[component]
fn UserMessage(id: MessageId, shown: Shown) -> impl IntoView {
    let text = use_language();
    let Shown { entry, session, .. } = shown;
    let editing = memo(move |_| session.is_some_and(|session| session.is_edited(id)));
    let words = memo(move |_| read(entry, |entry| entry.text.clone()));
    let content = move || match session {
        Some(session) if editing.get() => view! { <EditForm id session /> }.into_any(),
        _ => view! {
            {move || bubble(words.get())}
            {session.map(|session| view! { <QuestionFoot entry session /> })}
        }
        .into_any(),
    };
    view! {
        <article class="message" id=element_id(id) data-role="user" data-status=move || status(entry)>
            <h2 class="visually-hidden">{text.you_said()}</h2>
            {content}
        </article>
    }
}

/// What a person wrote; of a long text the beginning, until it is asked for.
fn bubble(content: String) -> AnyView {
    let text = use_language();
    let folded = RwSignal::new(true);
    let fold = is_long(&content).then(|| {
        view! {
            <button
                type="button"
                class="button small fold"
                data-testid="fold"
                aria-expanded=move || (!folded.get()).to_string()
                on:click=move |_| folded.update(|folded| *folded = !*folded)
            >
                {move || if folded.get() { text.show_whole() } else { text.show_less() }}
            </button>
        }
    });
    let is_folded = fold.is_some();
    view! {
        <div class="bubble" dir="auto">
            <div class="bubble-text" class:folded=move || is_folded && folded.get()>{content}</div>
            {fold}
        </div>
    }
    .into_any()
}

/// Whether a text takes clearly more lines than are shown of it at first. How wide they are, only a browser knows.
fn is_long(text: &str) -> bool {
    const LINES: usize = 14;
    const CHARACTERS_A_LINE: usize = 80;
    let lines = text.split('\n').take(LINES + 1).map(|line| line.chars().count() / CHARACTERS_A_LINE + 1);
    lines.sum::<usize>() > LINES
}

#[component]
fn AssistantMessage(id: MessageId, shown: Shown) -> impl IntoView {
    let text = use_language();
    let Shown { entry, session, .. } = shown;
    let items = Items::new(shown);
    let pieces = move || read(entry, Entry::segments);
    let way_on = use_way_on(entry, session);
    view! {
        <article
            class="message"
            id=element_id(id)
            data-role="assistant"
            data-status=move || status(entry)
            on:click=|event| copy::on_click(&event)
        >
            <h2 class="visually-hidden">{text.answer()}</h2>
            <Each each=pieces key=Key::of children=move |piece| piece_view(items, &piece) />
            <Ending entry />
            {session.map(|session| view! { <WayOnButton way_on session /> })}
            <AnswerFoot entry session way_on />
        </article>
    }
}

/// What makes a piece the same one while its text grows.
#[derive(PartialEq, Eq, Hash)]
enum Key {
    TextFrom(usize),
    /// By the first item, which a run is never without.
    ItemsFrom(Option<ItemKey>),
}

impl Key {
    fn of(piece: &Segment) -> Self {
        match piece {
            Segment::Text(range) => Self::TextFrom(range.start),
            Segment::Items(keys) => Self::ItemsFrom(keys.first().copied()),
        }
    }
}

fn piece_view(items: Items, piece: &Segment) -> AnyView {
    match Key::of(piece) {
        Key::TextFrom(start) => {
            let text = use_language();
            let stretch = memo(move |_| read(items.shown.entry, |entry| stretch_from(entry, start, text)));
            view! { <Prose stretch /> }.into_any()
        }
        Key::ItemsFrom(first) => first.map(|first| view! { <ItemRun first items /> }).into_any(),
    }
}

fn stretch_from(entry: &Entry, start: usize, language: Language) -> Stretch {
    let end = entry.segments().into_iter().find_map(|piece| match piece {
        Segment::Text(range) if range.start == start => Some(range.end),
        Segment::Text(_) | Segment::Items(_) => None,
    });
    let text = end.and_then(|end| entry.text.get(start..end)).unwrap_or_default().to_owned();
    // Text with an item after it does not grow.
    let complete = !entry.is_streaming() || end.is_some_and(|end| end < entry.text.len());
    Stretch { message: entry.id, start, text, complete, language }
}

/// What stands below the text: that more is to come, or how it ended when it did not simply end.
#[component]
fn Ending(entry: OptionalEntry) -> impl IntoView {
    let text = use_language();
    let ending = memo(move |_| read(entry, |entry| Some(ending_of(entry, text))));
    let waiting = memo(move |_| read(entry, |entry| Waiting::of(entry.activity.as_ref())));
    move || match ending.get() {
        None | Some(End::Text) => ().into_any(),
        Some(End::Thinking) => view! { <Thinking waiting /> }.into_any(),
        Some(End::Note(note)) => view! { <p class="note">{note}</p> }.into_any(),
        Some(End::Failure { words, detail }) => view! {
            <div class="failure" role="alert">
                <p>{words}</p>
                {detail.map(|detail| view! { <p class="failure-detail" lang="en">{detail}</p> })}
            </div>
        }
        .into_any(),
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum End {
    Text,
    Thinking,
    Note(Cow<'static, str>),
    Failure {
        words: String,
        /// What the server says of it, where the page has words of its own.
        detail: Option<String>,
    },
}

fn ending_of(entry: &Entry, text: Language) -> End {
    match entry.status {
        MessageStatus::Streaming if entry.activity.is_some() => End::Thinking,
        MessageStatus::Streaming => match entry.segments().last() {
            Some(Segment::Text(_)) => End::Text,
            // An item that is not over shows it itself.
            Some(Segment::Items(_)) if entry.items.iter().any(|item| !item.is_over()) => End::Text,
            Some(Segment::Items(_)) | None => End::Thinking,
        },
        MessageStatus::Stopped => End::Note(text.stopped(Tally::of(entry)).into()),
        MessageStatus::Interrupted if entry.error.is_none() => End::Note(text.interrupted().into()),
        MessageStatus::Interrupted | MessageStatus::Failed => failure_of(entry, text),
        MessageStatus::Complete => note_on(entry, text).map_or(End::Text, |note| End::Note(note.into())),
        MessageStatus::AwaitingApproval | MessageStatus::Unknown => End::Text,
    }
}

/// What a reader must know of an answer that is whole and yet not as it should be.
fn note_on(entry: &Entry, text: Language) -> Option<&'static str> {
    match entry.stop_reason.as_deref() {
        Some("refusal") => Some(text.model_refused()),
        Some("max_tokens") => Some(text.cut_off()),
        Some("step_limit") => Some(text.step_limit()),
        Some("client_calls") => Some(text.handed_over()),
        // What was said before its calls is not an answer.
        _ => match entry.segments().last() {
            Some(Segment::Text(_)) => None,
            Some(Segment::Items(_)) | None => Some(text.no_output()),
        },
    }
}

fn failure_of(entry: &Entry, text: Language) -> End {
    let told = entry.error.clone().filter(|error| !error.is_empty());
    match entry.error_code.as_deref().and_then(|code| text.turn_error(code)) {
        Some(words) => End::Failure { words: words.to_owned(), detail: told },
        None => End::Failure { words: told.unwrap_or_else(|| text.failed().to_owned()), detail: None },
    }
}

fn status(entry: OptionalEntry) -> &'static str {
    entry.with(|entry| entry.as_ref().map_or(MessageStatus::Unknown, |entry| entry.status).as_str())
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use std::sync::Arc;

    use leptos::{prelude::*, reactive::owner::Owner};
    use tallybook_protocol::{ChatEvent, MessageEnd, MessageId, MessageStart, MessageStatus, Usage};

    use super::{Shown, ShownMessage};
    use crate::{
        language::Language,
        transcript::{Entry, ExpandAll, Transcript, fold},
    };

    #[test]
    fn a_transcript_is_read_without_a_session() {
        let mut transcript = Transcript::default();
        fold(
            &mut transcript,
            ChatEvent::MessageStart(MessageStart {
                user_message_id: MessageId(1),
                assistant_message_id: MessageId(2),
                conversation_id: uuid::Uuid::nil(),
                content: "What is 1 + 2?".to_owned(),
                parent_id: None,
                user_siblings: vec![MessageId(1), MessageId(3)],
                assistant_siblings: Vec::new(),
                provider: None,
                model: None,
            }),
        );
        fold(
            &mut transcript,
            ChatEvent::MessageEnd(MessageEnd {
                assistant_message_id: MessageId(2),
                content: "It is 3.".to_owned(),
                tool_calls: Vec::new(),
                reasoning: Vec::new(),
                plan: None,
                status: MessageStatus::Stopped,
                error: None,
                error_code: None,
                stop_reason: None,
                usage: Usage::default(),
                provider: None,
                model: None,
                told: None,
            }),
        );
        let owner = Owner::new();
        let html = owner.with(|| {
            provide_context(Language::English);
            let draw = |entry: &Arc<Entry>| {
                let (entry, id) = (RwSignal::new(Some(Arc::clone(entry))).read_only(), entry.id);
                let shown = Shown { entry, expand_all: RwSignal::new(ExpandAll::default()), session: None };
                view! { <ShownMessage id shown /> }.to_html()
            };
            transcript.entries().iter().map(draw).collect::<String>()
        });
        assert!(html.contains("What is 1 + 2?") && html.contains("It is 3."), "{html}");
        assert!(html.contains("copy-answer"), "{html}");
        for act in ["regenerate", "edit", "continue", "older-version"] {
            assert!(!html.contains(&format!("data-testid=\"{act}\"")), "{act} in {html}");
        }
    }
}
