//! The page that a link to a shared conversation shows, as a whole document. The server draws it, for everybody, and no
//! script runs in it: what can be opened are the browser's own details.

use std::sync::Arc;

use leptos::prelude::*;
use tallybook_markdown::bounded_marks;
use tallybook_protocol::{PlanStep, Role, SharedConversation};

use super::page_room::PageRoom;
use crate::{
    components::{
        call_text::Part,
        icon::{Draw, Icon},
        nothing_here::NothingHere,
        plan::{Round, count_of, reason_of, rounds_of},
        plan_step::{Line, mark},
        thought::heading,
        tool_call::outcome_icon,
        visible::{visible, warning_view},
    },
    format,
    invisible::Found,
    json,
    language::{Language, use_language},
    markdown::Stretch,
    preferences::{Preferences, switch_name},
    style::{later_style, style},
    text::{PRODUCT, page_title},
    transcript::{Call, CallText, Entry, Item, Segment, Thought},
};

/// Characters of each text of a call that are shown; there is nothing here to ask for more with.
const MAX_CALL_CHARS: usize = 20_000;

/// The document with what a link shows: nothing where it is `None`, and why it cannot be shown where that is an error.
/// `folder` is the address of the folder with the page's style.
pub fn shared_page(
    folder: &str,
    preferences: Preferences,
    found: Result<Option<SharedConversation>, String>,
) -> String {
    let Preferences { language, theme, call_previews, .. } = preferences;
    let title = match &found {
        Ok(Some(shared)) => page_title(Some(&shared.title)),
        Ok(None) | Err(_) => page_title(Some(language.not_found_title())),
    };
    let styles = (style(folder), later_style(folder));
    Owner::new().with(|| {
        provide_context(language);
        let content = match found {
            Ok(Some(shared)) => view! { <SharedPage shared /> }.into_any(),
            Ok(None) => view! { <main class="alone"><NothingHere message=language.not_shared() /></main> }.into_any(),
            Err(message) => view! { <main class="alone"><p role="alert">{message}</p></main> }.into_any(),
        };
        let document = view! {
            <html lang=language.code() data-theme=theme.name() data-call-previews=switch_name(call_previews)>
                <head>
                    <meta charset="utf-8" />
                    <meta name="viewport" content="width=device-width, initial-scale=1" />
                    <meta name="color-scheme" content="light dark" />
                    <meta name="robots" content="noindex, nofollow" />
                    <title>{title}</title>
                    <link rel="icon" type="image/svg+xml" href="/favicon.svg" />
                    {styles}
                </head>
                <body>{content}</body>
            </html>
        };
        format!("<!DOCTYPE html>{}", document.to_html())
    })
}

#[component]
fn SharedPage(shared: SharedConversation) -> impl IntoView {
    let text = use_language();
    let SharedConversation { title, messages, shared_at } = shared;
    let room = PageRoom::default();
    let messages = messages.into_iter().map(|message| {
        let role = message.role;
        let entry = Entry::stored(message, &[]);
        match role {
            Role::User => room.draw(|| question_view(&entry, text).to_html()).into_any(),
            Role::Assistant => answer_view(&entry, &room, text).into_any(),
        }
    });
    let messages = messages.collect_view();
    let rest =
        room.is_exceeded().then(|| view! { <p class="note" data-testid="page-left-out">{text.text_left_out()}</p> });
    view! {
        <main class="shared">
            <header>
                <p class="brand">{PRODUCT}</p>
                <h1 dir="auto">{bounded_marks(&title).into_owned()}</h1>
                <p class="shared-note">
                    {text.shared_on(&shared_at.format("%Y-%m-%d").to_string())}
                    " "
                    <a href="?format=text">{text.shared_as_text()}</a>
                </p>
            </header>
            <div class="shared-messages">{messages}{rest}</div>
        </main>
    }
}

fn question_view(entry: &Entry, text: Language) -> impl IntoView + use<> {
    view! {
        <article class="message" data-role="user">
            <h2 class="visually-hidden">{text.question()}</h2>
            <div class="bubble" dir="auto">{bounded_marks(&entry.text).into_owned()}</div>
        </article>
    }
}

/// An answer to be read, as much of it as the page has room for.
pub(super) fn answer_view(entry: &Entry, room: &PageRoom, text: Language) -> impl IntoView + use<> {
    let pieces = entry.segments().into_iter().map(|segment| match segment {
        Segment::Plan => plan_view(entry, room, text).into_any(),
        piece => piece_view(entry, piece, room, text),
    });
    let lacks_plan = entry.lacks_plan().then(|| view! { <p class="note">{text.plan_unavailable()}</p> });
    let cut_off = entry.is_cut_off().then(|| view! { <p class="note">{text.shared_cut_off()}</p> });
    view! {
        <article class="message" data-role="assistant">
            <h2 class="visually-hidden">{text.answer()}</h2>
            {lacks_plan}
            {pieces.collect_view()}
            {cut_off}
        </article>
    }
}

/// A piece of an answer, or of a step of its plan.
fn piece_view(entry: &Entry, piece: Segment, room: &PageRoom, text: Language) -> AnyView {
    match piece {
        Segment::Text(range) => {
            let (message, start) = (entry.id, range.start);
            let words = entry.text.get(range).unwrap_or_default();
            let stretch = || Stretch { message, start, text: words.to_owned(), complete: true, language: text };
            room.draw(|| stretch().to_html()).into_any()
        }
        Segment::Items(keys) => {
            let items = entry.items.iter().filter(|item| keys.contains(&item.key()));
            let items = items.map(|item| match item {
                Item::Call(call) => room.draw(|| call_view(call, text).to_html()),
                Item::Thought(thought) => room.draw(|| thought_view(thought, text).to_html()),
            });
            view! { <div class="tools">{items.collect_view()}</div> }.into_any()
        }
        // Its steps have pieces of their own.
        Segment::Plan => ().into_any(),
    }
}

/// The plan of an answer, with all that stands in its steps.
fn plan_view(entry: &Entry, room: &PageRoom, text: Language) -> Option<impl IntoView + use<>> {
    let plan = entry.plan.as_deref()?;
    let rounds = rounds_of(plan).into_iter().map(|Round { revision, first, is_anew }| {
        let anew = is_anew.then(|| {
            let reason = reason_of(plan, revision).map(str::to_owned);
            view! { <p class="plan-anew"><span class="plan-label">{text.plan_revised()}</span>" "<span dir="auto">{reason}</span></p> }
        });
        let steps = plan.steps.iter().zip(1..).filter(|(step, _)| step.revision == revision);
        let steps = steps.map(|(step, number)| step_view(entry, step, number, (room, text)));
        view! { {anew}<ol class="plan-steps" role="list" start=first.to_string()>{steps.collect_view()}</ol> }
    });
    Some(view! {
        <section class="plan" role="group" aria-label=text.plan()>
            <div class="plan-top">
                <Draw icon=Icon::Steps />
                <h3>{text.plan()}</h3>
                <span class="plan-count">{count_of(plan, text)}</span>
            </div>
            <p class="plan-goal">
                <span class="plan-label">{text.plan_done_when()}</span>
                " "
                <span dir="auto">{plan.success_criteria.clone()}</span>
            </p>
            {rounds.collect_view()}
        </section>
    })
}

fn step_view(
    entry: &Entry,
    step: &PlanStep,
    number: usize,
    (room, text): (&PageRoom, Language),
) -> impl IntoView + use<> {
    let line = Line::of(entry, step, text);
    let words = line.words(text);
    let told = |label: &'static str, words: String| {
        view! { <p class="plan-told"><span class="plan-label">{label}</span>" "<span dir="auto">{words}</span></p> }
    };
    let pieces = entry.segments_of(step.step_id).into_iter().map(|piece| piece_view(entry, piece, room, text));
    view! {
        <li class="plan-step" data-state=line.state.name()>
            <details>
                <summary class="plan-line">
                    <span class="plan-mark">{mark(line.state, number)}</span>
                    <span class="plan-words">
                        <span class="plan-instruction" dir="auto">{line.instruction}</span>
                        " "
                        <span class="plan-state">{words}</span>
                    </span>
                </summary>
                <div class="plan-body">
                    {told(text.plan_expected(), line.expected)}
                    {pieces.collect_view()}
                    {line.judgement.map(|words| told(text.plan_evaluation(), words))}
                </div>
            </details>
            {line.reason.map(|reason| view! { <p class="plan-reason" dir="auto">{reason}</p> })}
        </li>
    }
}

fn thought_view(thought: &Thought, text: Language) -> impl IntoView + use<> {
    let (beginning, is_cut) = format::beginning(&thought.told.text, MAX_CALL_CHARS);
    let is_cut = is_cut || thought.told.truncated;
    let note = is_cut.then(|| view! { <p class="tool-note">{text.shared_beginning()}</p> });
    view! {
        <details class="tool thought">
            <summary class="tool-line">
                <span class="tool-status"><Draw icon=Icon::Thought /></span>
                <span class="thought-heading">{heading(thought, text)}</span>
            </summary>
            <div class="thought-words" dir="auto"><pre tabindex="0">{visible(beginning, text)}</pre>{note}</div>
        </details>
    }
}

fn call_view(call: &Arc<Call>, text: Language) -> impl IntoView + use<> {
    let outcome = call.outcome().map(|words| {
        view! {
            <span class="tool-arrow" aria-hidden="true">" → "</span>
            <span class="tool-result">{words}</span>
        }
    });
    let parts = Part::ALL.map(|part| {
        part.of(call).map(|held| {
            view! {
                <div class="tool-part">
                    <h3 class:tool-error-heading=part == Part::Error>{part.heading(Some(call), text)}</h3>
                </div>
                {part_view(part, held, text)}
            }
        })
    });
    view! {
        <details class="tool">
            <summary class="tool-line" data-status=call.status.as_str()>
                <span class="tool-status">{outcome_icon(call.status).map(|icon| view! { <Draw icon /> })}</span>
                <span class="tool-name">{call.shown_name().into_owned()}</span>
                " "
                <span class="tool-preview">
                    <span class="tool-summary">{call.summary()}</span>
                    {outcome}
                </span>
                <span class="tool-space">" "</span>
                <span class="tool-state">{text.call_status(call.status)}</span>
                " "
                <span class="tool-duration">{call.duration_ms.map(|ms| format::duration(text, ms))}</span>
            </summary>
            <div class="tool-details">{parts.into_iter().collect_view()}</div>
        </details>
    }
}

fn part_view(part: Part, held: &CallText, text: Language) -> impl IntoView + use<> {
    let words = match part {
        Part::Proposed | Part::Input => json::readable(&held.text),
        Part::Output => json::readable_output(&held.text),
        Part::Error => held.text.to_string(),
    };
    let (beginning, is_cut) = format::beginning(&words, MAX_CALL_CHARS);
    let note = (is_cut || !held.is_whole()).then(|| view! { <p class="tool-note">{text.shared_beginning()}</p> });
    view! {
        {warning_view(Found::of(&words), text)}
        <div class="tool-text"><pre tabindex="0">{visible(beginning, text)}</pre></div>
        {note}
    }
}
