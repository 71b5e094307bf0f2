//! Finding something in the conversation that is open, also in what is not loaded yet: a field, which of how many places
//! one is at, and the ways to the others.

use leptos::{ev::KeyboardEvent, html, prelude::*};
use send_wrapper::SendWrapper;
use uuid::Uuid;
use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use crate::{
    browser,
    components::{
        commands::is_composing,
        icon::{Draw, Icon},
    },
    goal::Goal,
    in_turn::in_next_frame,
    language::use_language,
    reactive::{effect, memo},
    reveal,
    scroll::THREAD_ID,
    search::{Finder, Search, Stage, Step, Turn, Walk},
    session::Session,
};

/// The bar, as long as it is open.
#[component]
pub(crate) fn FindBar(conversation: Uuid, session: Session, open: RwSignal<bool>) -> impl IntoView {
    let text = use_language();
    let field = NodeRef::<html::Input>::new();
    let finder = Finder::new(Some(conversation));
    // What is on other branches is found by the search in everything: going there changes what is shown.
    let places = memo(move |_| {
        finder.search.with(|search| {
            let shown = search.hits().iter().filter(|hit| hit.shown);
            let goal = |hit| Some(Goal { takes_focus: false, ..Goal::of_hit(hit, search.answered())? });
            shown.filter_map(goal).collect::<Vec<_>>()
        })
    });
    let has_more = move || finder.search.with(Search::has_more);
    let walk = RwSignal::new(Walk::default());
    let turn = move |turn: Turn| match turn {
        Turn::Go(at) => {
            if let Some(goal) = places.with_untracked(|places| places.get(at).cloned()) {
                session.go_to(goal);
            }
        }
        Turn::FindMore => finder.find_more(),
        Turn::Stay => {}
    };
    let step = move |step: Step| {
        let (count, has_more) = (places.with_untracked(Vec::len), untrack(has_more));
        if let Some(to) = walk.try_update(|walk| walk.step(step, count, has_more)) {
            turn(to);
        }
    };
    // What the walk has begun among.
    let begun = StoredValue::new(String::new());
    effect(move || {
        let (answered, is_resting) = finder.search.with(|search| {
            (search.answered().to_owned(), matches!(search.stage(), Stage::More | Stage::Done | Stage::Failed(_)))
        });
        let count = places.with(Vec::len);
        if answered != begun.get_value() {
            walk.set(Walk::default());
            if count == 0 && !is_resting {
                return reveal::forget();
            }
            begun.set_value(answered);
            let here = |goal: &Goal| session.transcript.with_untracked(|shown| shown.find(goal.message).is_some());
            let walked = places.with(|places| Walk::begin(places.iter().map(here)));
            walk.set(walked);
            match walked.at() {
                Some(at) => turn(Turn::Go(at)),
                None => reveal::forget(),
            }
        } else if is_resting && let Some(to) = walk.try_update(|walk| walk.grow(count, untrack(has_more))) {
            turn(to);
        }
    });
    let said = memo(move |_| {
        let (at, count, has_more) = (walk.get().at(), places.with(Vec::len), has_more());
        finder.search.with(|search| match (search.stage(), at) {
            (Stage::Off, _) => String::new(),
            (Stage::Failed(error), _) => error.message(text),
            (_, Some(at)) => text.place_of(at + 1, count, has_more),
            (Stage::Typing | Stage::Asking, None) => text.searching().to_owned(),
            (Stage::More | Stage::Done, None) => text.found_nowhere().to_owned(),
        })
    });
    let close = closing(open);
    effect(move || {
        if let Some(field) = field.get() {
            in_next_frame(move || drop(field.focus()));
        }
    });
    let on_key = move |event: KeyboardEvent| {
        match (event.key().as_str(), event.shift_key()) {
            _ if is_composing(&event) => return,
            ("Enter", false) => step(Step::Next),
            ("Enter", true) => step(Step::Previous),
            ("Escape", _) => close(),
            _ => return,
        }
        event.prevent_default();
    };
    let has_places = memo(move |_| places.with(|places| !places.is_empty()));
    let is_useless = Signal::derive(move || !has_places.get());
    view! {
        <search class="find" data-testid="find" aria-label=text.find_here()>
            <input
                type="search"
                class="field"
                id="find"
                data-testid="find-field"
                autocomplete="off"
                enterkeyhint="search"
                aria-label=text.find_here()
                placeholder=text.find_here()
                node_ref=field
                on:input:target=move |event| finder.search_for(event.target().value())
                on:keydown=on_key
            />
            <span class="find-place" role="status" data-testid="find-place">{said}</span>
            {button(Icon::ArrowUp, "find-previous", text.find_previous(), is_useless, move || step(Step::Previous))}
            {button(Icon::ArrowDown, "find-next", text.find_next(), is_useless, move || step(Step::Next))}
            {button(Icon::Cross, "find-close", text.find_close(), Signal::stored(false), close)}
        </search>
    }
    .into_any()
}

/// Closes the bar; who closes it is where one was before.
fn closing(open: RwSignal<bool>) -> impl Fn() + Copy + 'static {
    let before = document().active_element().and_then(|focused| focused.dyn_into::<HtmlElement>().ok());
    let before = StoredValue::new(before.map(SendWrapper::new));
    move || {
        reveal::forget();
        open.set(false);
        let is_there = before.with_value(|before| {
            before.as_ref().is_some_and(|before| {
                let _ = before.focus();
                document().active_element().as_ref() == Some(before)
            })
        });
        if !is_there {
            browser::focus(THREAD_ID);
        }
    }
}

fn button(
    icon: Icon,
    name: &'static str,
    label: &'static str,
    is_useless: Signal<bool>,
    run: impl Fn() + 'static,
) -> AnyView {
    let run: Box<dyn Fn()> = Box::new(run);
    view! {
        <button
            type="button"
            class="button icon-only quiet small"
            data-testid=name
            aria-label=label
            title=label
            aria-disabled=move || is_useless.get().then_some("true")
            on:click=move |_| run()
        >
            <Draw icon />
        </button>
    }
    .into_any()
}
