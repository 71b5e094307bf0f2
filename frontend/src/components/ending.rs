//! What stands below an answer's text: that more is to come, or how it ended when it did not simply end.

use std::borrow::Cow;

use leptos::prelude::*;
use tallybook_protocol::MessageStatus;

use crate::{
    components::{
        shown::{OptionalEntry, read},
        thinking::Thinking,
    },
    language::{Language, use_language},
    reactive::memo,
    transcript::{Entry, Item, Segment, Tally},
    waiting::Waiting,
};

/// What stands below the text: that more is to come, or how it ended when it did not simply end.
#[component]
pub(crate) fn Ending(entry: OptionalEntry) -> impl IntoView {
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

/// Whether nothing shows that an answer is being written, where these pieces are what there is.
pub(crate) fn is_silent(entry: &Entry, pieces: &[Segment]) -> bool {
    entry.activity.is_some()
        || match pieces.last() {
            Some(Segment::Text(_)) => false,
            // An item that is not over shows it itself.
            Some(Segment::Items(_)) => entry.items.iter().all(Item::is_over),
            Some(Segment::Plan) | None => true,
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
        // A step that is worked on shows it itself.
        MessageStatus::Streaming if entry.step_at_work().is_none() && is_silent(entry, &entry.segments()) => {
            End::Thinking
        }
        MessageStatus::Stopped => End::Note(text.stopped(Tally::of(entry)).into()),
        MessageStatus::Interrupted if entry.error.is_none() => End::Note(text.interrupted().into()),
        MessageStatus::Interrupted | MessageStatus::Failed => failure_of(entry, text),
        MessageStatus::Complete => note_on(entry, text).map_or(End::Text, End::Note),
        MessageStatus::Streaming | MessageStatus::AwaitingApproval | MessageStatus::Unknown => End::Text,
    }
}

/// What a reader must know of an answer that is whole and yet not as it should be.
fn note_on(entry: &Entry, text: Language) -> Option<Cow<'static, str>> {
    match entry.stop_reason.as_deref() {
        Some("refusal") => Some(text.model_refused().into()),
        Some("max_tokens") => Some(text.length_limit().into()),
        Some("step_limit") => Some(text.step_limit().into()),
        Some("client_calls") => Some(text.client_tool_calls().into()),
        Some(reason) if entry.is_cut_short() => Some(text.cut_off_because(reason).into()),
        // What was said before its calls is not an answer.
        _ => match entry.segments().last() {
            Some(Segment::Text(_)) => None,
            Some(Segment::Items(_) | Segment::Plan) | None => Some(text.no_output().into()),
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
