//! What is inside an opened tool call: input, and output or error. Always text, never HTML.

use leptos::prelude::*;

use crate::{
    components::copy::CopyButton,
    format, json,
    language::{Language, use_language},
    transcript::Call,
};

/// Longer texts show their beginning first.
const LONG_TEXT_CHARS: usize = 4000;
/// What is no longer than this never scrolls inside itself.
const SHORT_TEXT_BYTES: usize = 400;
const SHORT_TEXT_LINES: usize = 12;

/// The details of one call.
#[component]
pub(crate) fn ToolCallDetails(
    /// Named by the button that opens it.
    id: String,
    call: Memo<Option<Call>>,
) -> impl IntoView {
    let text = use_language();
    let input = call.with_untracked(|call| call.as_ref().map(|call| call.input.clone()));
    let output = Memo::new(move |_| call.with(|call| call.as_ref()?.output.clone()));
    let error = Memo::new(move |_| call.with(|call| call.as_ref()?.error.clone()));
    let note = move || {
        let nothing = output.with(Option::is_none) && error.with(Option::is_none);
        nothing.then(|| call.with(|call| text.call_note(call.as_ref()?.status))).flatten()
    };
    view! {
        <div class="tool-details" id=id data-testid="tool-call-details">
            {input.map(|input| view! {
                <div class="tool-part">
                    <h3>{text.input()}</h3>
                    <CopyButton content=input.as_str() />
                </div>
                {input_view(input.as_str(), text)}
            })}
            {move || output.get().map(|output| view! {
                <div class="tool-part">
                    <h3>{text.output()}</h3>
                    <CopyButton content=&output />
                </div>
                <LongText content=json::readable_output(&output) />
            })}
            {move || error.get().map(|error| view! {
                <div class="tool-part">
                    <h3 class="tool-error-heading">{text.error()}</h3>
                    <CopyButton content=&error />
                </div>
                <LongText content=error />
            })}
            {move || note().map(|note| view! { <p class="tool-note">{note}</p> })}
        </div>
    }
    .into_any()
}

fn input_view(json: &str, text: Language) -> AnyView {
    if let Some(rows) = json::rows(json) {
        let rows = rows.into_iter().map(|row| {
            view! {
                <div class="row" class:nested=row.nested>
                    <dt>{row.key}</dt>
                    <dd><LongText content=row.value /></dd>
                </div>
            }
        });
        return view! { <dl class="rows">{rows.collect_view()}</dl> }.into_any();
    }
    match json.trim() {
        "{}" | "null" => view! { <p class="tool-note">{text.no_arguments()}</p> }.into_any(),
        json => view! { <LongText content=json::readable(json) /> }.into_any(),
    }
}

/// A text whose length nobody promised: the beginning, and the rest when asked for.
#[component]
fn LongText(content: String) -> impl IntoView {
    let text = use_language();
    let (start, is_long) = format::beginning(&content, LONG_TEXT_CHARS);
    // What may scroll must be reachable with the keyboard.
    let is_tall = is_long || content.len() > SHORT_TEXT_BYTES || content.lines().count() > SHORT_TEXT_LINES;
    let tabindex = is_tall.then_some("0");
    if !is_long {
        return view! { <pre tabindex=tabindex>{content}</pre> }.into_any();
    }
    let start = start.to_owned();
    let characters = content.chars().count();
    let all = RwSignal::new(false);
    view! {
        <pre tabindex=tabindex>{move || if all.get() { content.clone() } else { start.clone() }}</pre>
        <Show when=move || !all.get()>
            <button type="button" class="show-all" data-testid="show-all" on:click=move |_| all.set(true)>
                {text.show_all(characters)}
            </button>
        </Show>
    }
    .into_any()
}
