//! Search results in messages and tool calls, below the matching titles: each match with its conversation, surrounding
//! text, author, and time.

use leptos::{
    ev::{self, KeyboardEvent, MouseEvent},
    prelude::*,
};
use tallybook_nodes::bounded;
use tallybook_protocol::{Role, SearchHit};
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use crate::{
    address::is_plain,
    browser,
    components::parts::{
        commands::{has_modifier, is_composing},
        ids::{SEARCH_ID, SIDEBAR_ID},
        list_steps::{AtEnd, ListStep},
        times::when,
    },
    conversation_list::ConversationList,
    goal::{Goal, permalink},
    language::{Language, use_language},
    reactive::{effect, memo},
    search::{Finder, Search, Stage},
};

/// Elements that the arrow keys move through during a search.
const RESULTS: &str = ".conversation-link, .hit";

/// The matches.
#[component]
pub(crate) fn SearchResults(
    /// The list whose search it is.
    list: ConversationList,
    /// Goes to a match.
    go: Callback<Goal>,
) -> impl IntoView {
    let text = use_language();
    let finder = Finder::new(None);
    effect(move || finder.search_for(list.search.get()));
    effect(move || {
        let listener = window_event_listener(ev::keydown, move |event| {
            if list.search.with_untracked(|words| !words.trim().is_empty()) {
                step_with_arrows(&event);
            }
        });
        on_cleanup(move || listener.remove());
    });
    let is_on = memo(move |_| finder.search.with(|search| *search.stage() != Stage::Off));
    let rows = move || {
        finder.search.with(|search| {
            let mut before = None;
            let row = |hit: &SearchHit| {
                let goal = Goal::of_hit(hit, search.answered())?;
                let is_next = before.replace(hit.conversation_uuid) == Some(hit.conversation_uuid);
                Some(row(hit, goal, is_next, go, text))
            };
            search.hits().iter().filter_map(row).collect::<Vec<_>>()
        })
    };
    let said = memo(move |_| finder.search.with(|search| said_of(search, text)));
    let next_step = memo(move |_| finder.search.with(|search| next_step_of(search, text)));
    let content = move || {
        view! {
            <h2 class="sidebar-heading">{text.found_in_messages()}</h2>
            <ul class="hits">{rows}</ul>
            {move || next_step.get().map(|label| view! {
                <button type="button" class="button small show-more" data-testid="search-on" on:click=move |_| finder.find_more()>
                    {label}
                </button>
            })}
        }
        .into_any()
    };
    view! {
        {move || is_on.get().then(content)}
        // The element exists from the start, so that a screen reader announces its changes.
        <p class="sidebar-note" role="status" data-testid="search-status">{said}</p>
    }
    .into_any()
}

/// Returns the state of the search for the user.
fn said_of(search: &Search, text: Language) -> Option<String> {
    let count = search.hits().iter().filter(|hit| hit.message_id.is_some()).count();
    let words = match search.stage() {
        Stage::Off => return None,
        Stage::Asking if search.has_more() => text.searching_older(),
        // The shown matches are those of the previous query.
        Stage::Typing | Stage::Asking => text.searching(),
        Stage::Failed(error) => return Some(error.message(text)),
        Stage::More if count == 0 => text.no_matches_yet(),
        Stage::Done if count == 0 => text.no_matches_in_messages(),
        Stage::More | Stage::Done => return Some(text.match_count(count, search.has_more())),
    };
    Some(words.to_owned())
}

/// Returns the label of the button that loads more matches or tries again.
fn next_step_of(search: &Search, text: Language) -> Option<&'static str> {
    match search.stage() {
        Stage::More => Some(text.search_older()),
        Stage::Failed(_) => Some(text.try_again()),
        Stage::Off | Stage::Typing | Stage::Asking | Stage::Done => None,
    }
}

/// A match in a message. Matches in titles are shown above. Further matches of the same conversation do not repeat its
/// title.
fn row(hit: &SearchHit, goal: Goal, is_next: bool, go: Callback<Goal>, text: Language) -> AnyView {
    let title_class = if is_next { "visually-hidden" } else { "hit-title" };
    let href = permalink(goal.conversation, goal.message);
    let snippet = hit.snippet.iter().map(|part| {
        let words = bounded(&part.text).into_owned();
        if part.is_match { view! { <mark>{words}</mark> }.into_any() } else { words.into_any() }
    });
    let snippet: Vec<AnyView> = snippet.collect();
    let who = match (&hit.tool_name, hit.role) {
        (Some(tool), _) => tool.clone(),
        (None, Some(Role::User)) => text.you().to_owned(),
        (None, _) => text.answer().to_owned(),
    };
    let who = if hit.shown { who } else { format!("{who} · {}", text.in_other_version()) };
    let at = when(hit.created_at.timestamp_millis());
    let follow = move |event: MouseEvent| {
        if is_plain(&event) {
            event.prevent_default();
            go.run(goal.clone());
        }
    };
    view! {
        <li>
            <a class="hit" href=href data-testid="search-hit" on:click=follow>
                <span class=title_class>{bounded(&hit.title).into_owned()}</span>
                <span class="hit-words" dir="auto">{snippet}</span>
                <span class="hit-about">
                    <span class="hit-who">{who}</span>
                    {at}
                </span>
            </a>
        </li>
    }
    .into_any()
}

/// Moves the focus from the field through the matches, and back to the field.
fn step_with_arrows(event: &KeyboardEvent) {
    let step = ListStep::of(&event.key()).filter(|_| !is_composing(event) && !has_modifier(event));
    let Some(step @ (ListStep::Next | ListStep::Previous)) = step else { return };
    let (Some(list), Some(focused)) = (document().get_element_by_id(SIDEBAR_ID), document().active_element()) else {
        return;
    };
    let Ok(found) = list.query_selector_all(RESULTS) else { return };
    let results = (0..found.length()).filter_map(|at| found.item(at)?.dyn_into::<HtmlElement>().ok());
    // Elements that are removed or invisible cannot be focused.
    let results: Vec<HtmlElement> = results.filter(|result| result.offset_parent().is_some()).collect();
    let is_field = focused.id() == SEARCH_ID;
    let at = results.iter().position(|result| **result == focused);
    let to = match (at, step) {
        (None, ListStep::Previous) => return,
        (None, _) if !is_field => return,
        (Some(0), ListStep::Previous) => None,
        _ => step.from(at, results.len(), AtEnd::Stay),
    };
    event.prevent_default();
    match to {
        Some(to) => drop(results[to].focus()),
        None if at.is_some() => drop(browser::focus(SEARCH_ID)),
        None => {}
    }
}
