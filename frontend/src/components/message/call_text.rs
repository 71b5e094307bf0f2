//! A text of a tool call: its input, output or error. If only its beginning came with the answer, the rest is loaded
//! when the user wants to see or copy it.

use std::sync::Arc;

use leptos::{html, prelude::*};

use crate::{
    browser,
    components::{
        message::{
            copy::CopyButton,
            long_text::{LongText, beginning_view, is_long},
        },
        parts::{
            load_button::LoadButton,
            visible::{visible, warning_view},
        },
    },
    json,
    language::{Language, use_language},
    message::{CallContent, CallTextPart},
    mount_schedule::in_next_frame,
    reactive::{effect, memo},
    session::{Loading, Session},
    transcript::{Call, CallText, Extent},
};

/// A text of a call, below its heading.
#[component]
pub(crate) fn CallPart(
    part: CallTextPart,
    /// ID of its element.
    id: String,
    call: Memo<Option<Arc<Call>>>,
    session: Option<Session>,
    /// Set when the user asks for the complete text.
    #[prop(default = RwSignal::new(false))]
    is_wanted: RwSignal<bool>,
) -> impl IntoView {
    let text = use_language();
    let held = memo(move |_| call.with(|call| part.of(call.as_ref()?).cloned()));
    // `true` once the rest was requested here, to see or to copy it.
    let is_asked_for = RwSignal::new(false);
    let load = move || {
        is_asked_for.set(true);
        if let (Some(session), Some(call)) = (session, call.get_untracked()) {
            session.load_call(call.id);
        }
    };
    // The state is shown only where the rest was requested, although all texts of a call are loaded together.
    let loading = memo(move |_| {
        let id = call.with(|call| call.as_ref().map(|call| call.id));
        let asked_for = session.zip(id).filter(|_| is_asked_for.get());
        asked_for.map_or(Loading::Idle, |(session, id)| session.call_loading(id))
    });
    let place = NodeRef::<html::Div>::new();
    let is_whole = memo(move |_| held.with(|held| held.as_ref().is_some_and(CallText::is_whole)));
    effect(move || {
        // After a failure, setting it again runs this again.
        if is_wanted.get() && !is_whole.get_untracked() {
            load();
        }
    });
    Effect::new(move |was_whole: Option<bool>| {
        // The clicked button is removed, so the focus moves to the text.
        if was_whole == Some(false) && is_whole.get() && is_wanted.get_untracked() {
            in_next_frame(move || focus_if_lost(place));
        }
        is_whole.get()
    });
    let content = move || held.get().map(|held| content_view(CallContent::of(part, &held), is_wanted, text));
    let heading_id = format!("{id}-heading");
    let (labelled_by, described_by) = (heading_id.clone(), heading_id.clone());
    view! {
        <div class="tool-part">
            <h3 id=heading_id class:tool-error-heading=part == CallTextPart::Error>
                {move || call.with(|call| part.heading(call.as_deref(), text))}
            </h3>
            <CopyButton
                content=move || held.with(|held| held.as_ref().filter(|held| held.is_whole()).map(|held| Arc::clone(&held.text)))
                load
                loading
                described_by
            />
        </div>
        <div
            id=id
            class="tool-text"
            role="group"
            aria-labelledby=labelled_by
            // Takes the focus when the button in it is removed.
            tabindex="-1"
            node_ref=place
        >
            {content}
            {move || held.with(|held| match held.as_ref()?.extent {
                Extent::Whole => None,
                Extent::Beginning(bytes) => Some(view! { <LoadRest bytes loading show_all=move || is_wanted.set(true) /> }),
            })}
        </div>
    }
    .into_any()
}

fn focus_if_lost(place: NodeRef<html::Div>) {
    let is_lost = document().active_element().is_none_or(|focused| focused.tag_name() == "BODY");
    if let Some(place) = place.try_get_untracked().flatten().filter(|_| is_lost) {
        browser::focus_in_place(&place);
    }
}

/// The button that loads the rest of a text, and its state.
#[component]
fn LoadRest(
    /// Size of the whole text, if known.
    bytes: Option<i64>,
    loading: Memo<Loading>,
    show_all: impl Fn() + 'static,
) -> impl IntoView {
    let text = use_language();
    let spoken = move || (loading.get() == Loading::Running).then(|| text.loading_rest());
    view! {
        <LoadButton
            name="show-all"
            loading=loading.into()
            label=text.show_all_bytes(bytes)
            loading_label=text.loading_rest()
            load=show_all
        />
        // Announced from here, because screen readers do not announce changes inside a button.
        <span class="visually-hidden" role="status">{spoken}</span>
    }
    .into_any()
}

/// Returns `true` if parts of an input are collapsed until the user asks for all of it.
pub(crate) fn is_folded_at_first(input: &CallText) -> bool {
    is_long_content(&CallContent::of(CallTextPart::Input, input))
}

fn is_long_content(content: &CallContent) -> bool {
    match content {
        CallContent::Rows(rows) => rows.iter().any(|row| is_long(&row.value)),
        CallContent::NoArguments => false,
        CallContent::Whole(words) => is_long(words),
        CallContent::Beginning(_) => true,
    }
}

fn content_view(content: CallContent, is_wanted: RwSignal<bool>, text: Language) -> AnyView {
    let warning = warning_view(content.found(), text);
    let content = match content {
        CallContent::Rows(rows) => rows_view(rows, is_wanted, text),
        CallContent::NoArguments => view! { <p class="tool-note">{text.no_arguments()}</p> }.into_any(),
        CallContent::Whole(content) => view! { <LongText content all=fold(is_wanted) /> }.into_any(),
        CallContent::Beginning(beginning) => beginning_view(&beginning, text),
    };
    view! { {warning}{content} }.into_any()
}

fn rows_view(rows: Vec<json::Row>, is_wanted: RwSignal<bool>, text: Language) -> AnyView {
    let rows = rows.into_iter().map(|row| {
        view! {
            <div class="row" class:nested=row.nested>
                <dt dir="auto">{visible(&row.key, text)}</dt>
                <dd><LongText content=row.value all=fold(is_wanted) /></dd>
            </div>
        }
    });
    view! { <dl class="rows">{rows.collect_view()}</dl> }.into_any()
}

/// Returns a signal that expands one of several texts: by its own button, or by that for all of them.
fn fold(is_wanted: RwSignal<bool>) -> RwSignal<bool> {
    let all = RwSignal::new(is_wanted.get_untracked());
    effect(move || {
        if is_wanted.get() {
            all.set(true);
        }
    });
    all
}
