//! One text of a tool call: its input, output or error. Where only its beginning came with the answer, the rest is loaded
//! when the reader wants to see or copy it.

use std::sync::Arc;

use leptos::{html, prelude::*};

use crate::{
    browser,
    components::{
        copy::CopyButton,
        load_button::LoadButton,
        long_text::{LongText, beginning_view, is_long},
        visible::{visible, warning_view},
    },
    in_turn::in_next_frame,
    invisible::Found,
    json,
    language::{Language, use_language},
    reactive::{effect, memo},
    session::{Loading, Session},
    transcript::{Call, CallText, Extent},
};

/// Which text of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Proposed,
    Input,
    Output,
    Error,
}

impl Part {
    /// All of them, in the order in which they are shown.
    pub(crate) const ALL: [Self; 4] = [Self::Proposed, Self::Input, Self::Output, Self::Error];

    /// That text of a call; `None` when there is none.
    pub(crate) fn of(self, call: &Call) -> Option<&CallText> {
        match self {
            Self::Proposed => call.proposed.as_ref(),
            Self::Input => Some(&call.input),
            Self::Output => call.output.as_ref(),
            Self::Error => call.error.as_ref(),
        }
    }

    /// Its name in ids of elements.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Proposed => "proposed",
            Self::Input => "input",
            Self::Output => "output",
            Self::Error => "error",
        }
    }

    /// What stands above it.
    pub(crate) fn heading(self, call: Option<&Call>, text: Language) -> &'static str {
        match self {
            Self::Proposed => text.proposed_input(),
            Self::Input if call.is_some_and(|call| call.proposed.is_some()) => text.edited_input(),
            Self::Input => text.input(),
            Self::Output => text.output(),
            Self::Error => text.error(),
        }
    }

    /// The text for reading, as far as it is here.
    fn readable(self, content: &str) -> String {
        match self {
            Self::Proposed | Self::Input => json::readable(content),
            Self::Output => json::readable_output(content),
            Self::Error => content.to_owned(),
        }
    }
}

/// One text of a call, under its heading.
#[component]
pub(crate) fn CallPart(
    part: Part,
    /// The id of its element.
    id: String,
    call: Memo<Option<Arc<Call>>>,
    session: Option<Session>,
    /// Set when the reader asks to see all of it at once.
    #[prop(default = RwSignal::new(false))]
    is_wanted: RwSignal<bool>,
) -> impl IntoView {
    let text = use_language();
    let held = memo(move |_| call.with(|call| part.of(call.as_ref()?).cloned()));
    // Whether the rest was asked for here: to see it, or to copy it.
    let is_asked_for = RwSignal::new(false);
    let load = move || {
        is_asked_for.set(true);
        if let (Some(session), Some(call)) = (session, call.get_untracked()) {
            session.load_call(call.id);
        }
    };
    // How it stands is told where it was asked for, although a call is loaded with all its texts.
    let loading = memo(move |_| {
        let id = call.with(|call| call.as_ref().map(|call| call.id));
        let asked_for = session.zip(id).filter(|_| is_asked_for.get());
        asked_for.map_or(Loading::Idle, |(session, id)| session.call_loading(id))
    });
    let place = NodeRef::<html::Div>::new();
    let is_whole = memo(move |_| held.with(|held| held.as_ref().is_some_and(CallText::is_whole)));
    effect(move || {
        // Also after an attempt that failed: setting it again runs this again.
        if is_wanted.get() && !is_whole.get_untracked() {
            load();
        }
    });
    Effect::new(move |was_whole: Option<bool>| {
        // The button that was pressed is gone; the next key should still find the text.
        if was_whole == Some(false) && is_whole.get() && is_wanted.get_untracked() {
            in_next_frame(move || focus_if_lost(place));
        }
        is_whole.get()
    });
    let content = move || held.get().map(|held| content_view(Content::of(part, &held), is_wanted, text));
    let heading_id = format!("{id}-heading");
    let labelled_by = heading_id.clone();
    view! {
        <div class="tool-part">
            <h3 id=heading_id class:tool-error-heading=part == Part::Error>
                {move || call.with(|call| part.heading(call.as_deref(), text))}
            </h3>
            <CopyButton
                content=move || held.with(|held| held.as_ref().filter(|held| held.is_whole()).map(|held| Arc::clone(&held.text)))
                load
                loading
            />
        </div>
        <div
            id=id
            class="tool-text"
            role="group"
            aria-labelledby=labelled_by
            // Takes the focus when the button in it is gone.
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

/// The button behind a beginning, and how it stands with the rest.
#[component]
fn LoadRest(
    /// The size of the whole, where it is known.
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
        // Spoken from here, since a button's inside is not heard when it changes.
        <span class="visually-hidden" role="status">{spoken}</span>
    }
    .into_any()
}

/// A text as it is laid out: all of it, or the part that was received.
enum Content {
    Rows(Vec<json::Row>),
    NoArguments,
    Whole(String),
    Beginning(String),
}

impl Content {
    fn of(part: Part, held: &CallText) -> Self {
        if !held.is_whole() {
            return Self::Beginning(part.readable(&held.text));
        }
        if matches!(part, Part::Proposed | Part::Input) {
            if let Some(rows) = json::rows(&held.text) {
                return Self::Rows(rows);
            }
            if matches!(held.text.trim(), "{}" | "null") {
                return Self::NoArguments;
            }
        }
        Self::Whole(part.readable(&held.text))
    }

    /// Returns `true` if a part of it shows its beginning first.
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

/// Returns `true` if parts of an input are folded until the reader asks for all of it.
pub(crate) fn is_folded_at_first(input: &CallText) -> bool {
    Content::of(Part::Input, input).is_long()
}

fn content_view(content: Content, is_wanted: RwSignal<bool>, text: Language) -> AnyView {
    let warning = warning_view(content.found(), text);
    let content = match content {
        Content::Rows(rows) => rows_view(rows, is_wanted, text),
        Content::NoArguments => view! { <p class="tool-note">{text.no_arguments()}</p> }.into_any(),
        Content::Whole(content) => view! { <LongText content all=fold(is_wanted) /> }.into_any(),
        Content::Beginning(beginning) => beginning_view(&beginning, text),
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

/// Tells one of several texts to be shown whole: when the reader asks for it, or for all of them.
fn fold(is_wanted: RwSignal<bool>) -> RwSignal<bool> {
    let all = RwSignal::new(is_wanted.get_untracked());
    effect(move || {
        if is_wanted.get() {
            all.set(true);
        }
    });
    all
}
