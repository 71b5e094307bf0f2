//! Copying. Code in Markdown has buttons that are plain nodes, heard by one listener above all messages; elsewhere a
//! [`CopyButton`] knows what it copies.

use std::time::Duration;

use leptos::{ev::MouseEvent, prelude::*, task::spawn_local};
use wasm_bindgen::JsCast;
use web_sys::Element;

use crate::{browser, language::use_language};

/// How long a button says that it did it.
const TOLD_FOR: Duration = Duration::from_secs(2);

/// Copies the code beside the button that was clicked, if it was one.
pub(crate) fn on_click(event: &MouseEvent) {
    if let Some(button) = clicked(event)
        && let Some(code) = code_of(&button)
    {
        copy(button, code);
    }
}

/// Copies `content`, all of it, however much of it is shown.
#[component]
pub(crate) fn CopyButton<'a>(content: &'a str) -> impl IntoView + use<> {
    let text = use_language();
    let content = content.to_owned();
    let on_click = move |event: MouseEvent| {
        if let Some(button) = clicked(&event) {
            copy(button, content.clone());
        }
    };
    view! {
        <button type="button" class="copy" data-testid="copy" on:click=on_click>
            <span class="copy-label">{text.copy()}</span>
            <span class="copy-done">{text.copied()}</span>
        </button>
    }
}

fn copy(button: Element, content: String) {
    spawn_local(async move {
        if browser::copy(&content).await.is_err() || button.set_attribute("data-copied", "").is_err() {
            return;
        }
        browser::sleep(TOLD_FOR).await;
        // A button that is gone by now needs no label.
        let _ = button.remove_attribute("data-copied");
    });
}

fn clicked(event: &MouseEvent) -> Option<Element> {
    let target: Element = event.target()?.dyn_into().ok()?;
    target.closest("button.copy").ok()?
}

fn code_of(button: &Element) -> Option<String> {
    button.closest(".code").ok()??.query_selector("pre > code").ok()??.text_content()
}
