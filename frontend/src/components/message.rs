//! One message: a bubble with plain text for a person's, Markdown with items between for the assistant's. Nothing in it is
//! ever read as HTML.

use std::borrow::Cow;

use leptos::prelude::*;
use tallybook_protocol::{MessageId, MessageStatus, Role};

use crate::{
    components::{
        copy,
        edit_form::EditForm,
        items::{ItemRun, Items},
        message_foot::{AnswerFoot, QuestionFoot},
        prose::Prose,
        thinking::{Thinking, Waiting},
        way_on::{WayOnButton, use_way_on},
    },
    language::{Language, use_language},
    markdown::Stretch,
    session::{DrawnEntry, Session},
    transcript::{Entry, ItemKey, Segment, Tally},
};

/// A message of the transcript, as it changes.
#[component]
pub(crate) fn Message(
    /// Its row id.
    id: MessageId,
    /// The conversation.
    session: Session,
) -> impl IntoView {
    let entry = session.entry(id);
    let role = entry.with_untracked(|entry| entry.as_ref().map_or(Role::Assistant, |entry| entry.role));
    match role {
        Role::User => view! { <UserMessage id entry session /> }.into_any(),
        Role::Assistant => view! { <AssistantMessage entry session /> }.into_any(),
    }
}

/// A message that the server has not confirmed yet.
#[component]
pub(crate) fn UnstoredMessage(content: String) -> impl IntoView {
    let text = use_language();
    view! {
        <article class="message" data-role="user" data-status="sending">
            <h2 class="visually-hidden">{text.you_said()}</h2>
            <div class="bubble" dir="auto">{content}</div>
        </article>
        <p class="thinking" role="status"><span class="spinner" aria-hidden="true"></span>{text.sending()}</p>
    }
}

/// A message, as it changes.
pub(crate) type OptionalEntry = ReadSignal<DrawnEntry>;

/// Reads something of a message.
pub(crate) fn read<T: Default>(entry: OptionalEntry, pick: impl Fn(&Entry) -> T) -> T {
    entry.with(|entry| entry.as_ref().map(|entry| pick(entry)).unwrap_or_default())
}

#[component]
fn UserMessage(id: MessageId, entry: OptionalEntry, session: Session) -> impl IntoView {
    let text = use_language();
    let is_edited = Memo::new(move |_| session.is_edited(id));
    let content = move || {
        if is_edited.get() {
            return view! { <EditForm id session /> }.into_any();
        }
        view! {
            <div class="bubble" dir="auto">{move || read(entry, |entry| entry.text.clone())}</div>
            <QuestionFoot entry session />
        }
        .into_any()
    };
    view! {
        <article class="message" id=format!("message-{id}") data-role="user" data-status=move || status(entry)>
            <h2 class="visually-hidden">{text.you_said()}</h2>
            {content}
        </article>
    }
}

#[component]
fn AssistantMessage(entry: OptionalEntry, session: Session) -> impl IntoView {
    let text = use_language();
    let items = Items::new(entry, session);
    let pieces = move || read(entry, Entry::segments);
    let way_on = use_way_on(entry, session);
    view! {
        <article
            class="message"
            data-role="assistant"
            data-status=move || status(entry)
            on:click=|event| copy::on_click(&event)
        >
            <h2 class="visually-hidden">{text.answer()}</h2>
            <For each=pieces key=Key::of children=move |piece| piece_view(items, &piece) />
            <Ending entry />
            <WayOnButton way_on session />
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
            let stretch = Memo::new(move |_| read(items.entry, |entry| stretch_from(entry, start, text)));
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
    let ending = Memo::new(move |_| read(entry, |entry| Some(ending_of(entry, text))));
    let waiting = Memo::new(move |_| read(entry, |entry| Waiting::of(entry.activity.as_ref())));
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
        MessageStatus::Unknown => End::Text,
    }
}

/// What a reader must know of an answer that is whole and yet not as it should be.
fn note_on(entry: &Entry, text: Language) -> Option<&'static str> {
    match entry.stop_reason.as_deref() {
        Some("refusal") => Some(text.model_refused()),
        Some("max_tokens") => Some(text.cut_off()),
        Some("step_limit") => Some(text.step_limit()),
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
