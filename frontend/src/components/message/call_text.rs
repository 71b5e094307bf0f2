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
    invisible::Found,
    json,
    language::{Language, use_language},
    mount_schedule::in_next_frame,
    reactive::{effect, memo},
    session::{Loading, Session},
    transcript::{Call, CallText, Extent},
};

/// One of a call's texts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallTextPart {
    Proposed,
    Input,
    Output,
    Error,
}

impl CallTextPart {
    /// All texts, in the order in which they are shown.
    pub(crate) const ALL: [Self; 4] = [Self::Proposed, Self::Input, Self::Output, Self::Error];

    /// Returns this text of a call, if it has one.
    pub(crate) fn of(self, call: &Call) -> Option<&CallText> {
        match self {
            Self::Proposed => call.proposed.as_ref(),
            Self::Input => Some(&call.input),
            Self::Output => call.output.as_ref(),
            Self::Error => call.error.as_ref(),
        }
    }

    /// Returns its name in element IDs.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Input => "input",
            Self::Output => "output",
            Self::Error => "error",
        }
    }

    /// Returns its heading.
    pub(crate) fn heading(self, call: Option<&Call>, text: Language) -> &'static str {
        match self {
            Self::Proposed => text.proposed_input(),
            Self::Input if call.is_some_and(|call| call.proposed.is_some()) => text.edited_input(),
            Self::Input => text.input(),
            Self::Output => text.output(),
            Self::Error => text.error(),
        }
    }

    /// Returns the known text in readable form.
    fn readable(self, content: &str) -> String {
        match self {
            Self::Proposed | Self::Input => json::readable(content),
            Self::Output => json::readable_output(content),
            Self::Error => content.to_owned(),
        }
    }
}

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

/// A text as it is rendered: all of it, or the known beginning.
enum CallContent {
    Rows(Vec<json::Row>),
    NoArguments,
    Whole(String),
    Beginning(String),
}

impl CallContent {
    fn of(part: CallTextPart, held: &CallText) -> Self {
        if !held.is_whole() {
            return Self::Beginning(part.readable(&held.text));
        }
        if matches!(part, CallTextPart::Proposed | CallTextPart::Input) {
            if let Some(rows) = json::rows(&held.text) {
                return Self::Rows(rows);
            }
            if matches!(held.text.trim(), "{}" | "null") {
                return Self::NoArguments;
            }
        }
        Self::Whole(part.readable(&held.text))
    }

    /// Returns `true` if a part of it is collapsed at first.
    fn is_long(&self) -> bool {
        match self {
            Self::Rows(rows) => rows.iter().any(|row| is_long(&row.value)),
            Self::NoArguments => false,
            Self::Whole(words) => is_long(words),
            Self::Beginning(_) => true,
        }
    }

    fn found(&self) -> Found {
        let mut found = Found::default();
        match self {
            Self::Rows(rows) => rows.iter().for_each(|row| {
                found.add(&row.key);
                found.add(&row.value);
            }),
            Self::NoArguments => {}
            Self::Whole(words) | Self::Beginning(words) => found.add(words),
        }
        found
    }
}

/// Returns `true` if parts of an input are collapsed until the user asks for all of it.
pub(crate) fn is_folded_at_first(input: &CallText) -> bool {
    CallContent::of(CallTextPart::Input, input).is_long()
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
