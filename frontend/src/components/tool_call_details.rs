//! What is inside an opened tool call: input, and output or error. Always text, never HTML.

use leptos::prelude::*;

use crate::{format, json, text, transcript::Call};

/// Longer texts show their beginning first.
const LONG_TEXT_CHARS: usize = 4000;

/// The details of one call.
#[component]
pub(crate) fn ToolCallDetails(
    /// Named by the button that opens it.
    id: String,
    call: Memo<Option<Call>>,
) -> impl IntoView {
    let input = call.with_untracked(|call| call.as_ref().map(|call| call.input.clone()));
    let output = Memo::new(move |_| call.with(|call| call.as_ref()?.output.clone()));
    let error = Memo::new(move |_| call.with(|call| call.as_ref()?.error.clone()));
    let note = move || {
        let nothing = output.with(Option::is_none) && error.with(Option::is_none);
        nothing.then(|| call.with(|call| text::call_note(call.as_ref()?.status))).flatten()
    };
    view! {
        <div class="tool-details" id=id data-testid="tool-call-details">
            <h3>{text::INPUT}</h3>
            {input.map(|input| input_view(input.as_str()))}
            {move || output.get().map(|output| view! {
                <h3>{text::OUTPUT}</h3>
                <LongText content=json::readable_output(&output) />
            })}
            {move || error.get().map(|error| view! {
                <h3 class="tool-error-heading">{text::ERROR}</h3>
                <LongText content=error />
            })}
            {move || note().map(|note| view! { <p class="tool-note">{note}</p> })}
        </div>
    }
    .into_any()
}

fn input_view(json: &str) -> AnyView {
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
        "{}" | "null" => view! { <p class="tool-note">{text::NO_ARGUMENTS}</p> }.into_any(),
        json => view! { <LongText content=json::readable(json) /> }.into_any(),
    }
}

/// A text whose length nobody promised: the beginning, and the rest when asked for.
#[component]
fn LongText(content: String) -> impl IntoView {
    let (start, is_long) = format::beginning(&content, LONG_TEXT_CHARS);
    if !is_long {
        return view! { <pre>{content}</pre> }.into_any();
    }
    let start = start.to_owned();
    let characters = content.chars().count();
    let all = RwSignal::new(false);
    view! {
        <pre>{move || if all.get() { content.clone() } else { start.clone() }}</pre>
        <Show when=move || !all.get()>
            <button type="button" class="show-all" data-testid="show-all" on:click=move |_| all.set(true)>
                {text::show_all(characters)}
            </button>
        </Show>
    }
    .into_any()
}
