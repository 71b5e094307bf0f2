//! Copying, and other actions for code and tables. Their buttons in Markdown are plain nodes with one listener above
//! all messages. Elsewhere, a [`CopyButton`] has the text, or loads it first.

use std::{sync::Arc, time::Duration};

use leptos::{ev::MouseEvent, prelude::*, task::spawn_local};
use send_wrapper::SendWrapper;
use wasm_bindgen::JsCast;
use web_sys::{Element, Node};

use crate::{browser, export, language::use_language, reactive::effect, session::Loading};

/// Time for which a button shows that it has copied.
const FEEDBACK_DURATION: Duration = Duration::from_secs(2);

/// Performs the action of a clicked button beside code or below a table.
pub(crate) fn on_click(event: &MouseEvent) {
    let Some(button) = clicked(event) else { return };
    let classes = button.class_list();
    if classes.contains("copy") {
        if let Some(content) = code_of(&button).or_else(|| csv_of(&button)) {
            copy(button, content.into());
        }
    } else if classes.contains("download") {
        if let Some(code) = code_of(&button) {
            browser::save_text(&export::file_name(&language_of(&button)), &code);
        }
    } else if let Ok(Some(code)) = button.closest(".code")
        // The style shows it.
        && let Ok(is_wrapped) = code.toggle_attribute("data-wrap")
    {
        let _ = button.set_attribute("aria-pressed", if is_wrapped { "true" } else { "false" });
    }
}

/// Copies a text in full, however much of it is shown.
#[component]
pub(crate) fn CopyButton(
    /// The text; `None` until it is known in full.
    content: impl Fn() -> Option<Arc<str>> + Copy + Send + Sync + 'static,
    /// Loads the text.
    load: impl Fn() + 'static,
    /// The state of loading it.
    loading: Memo<Loading>,
    /// ID of the element that names the text.
    #[prop(optional)]
    described_by: Option<String>,
) -> impl IntoView {
    let text = use_language();
    // `true` if the button was clicked before the text was known.
    let waiting = StoredValue::new(None::<SendWrapper<Element>>);
    effect(move || {
        let is_loading = loading.get() == Loading::Running;
        let Some(button) = waiting.get_value() else { return };
        let content = content();
        if content.is_some() || !is_loading {
            waiting.set_value(None);
        }
        if let Some(content) = content {
            copy(button.take(), content);
        }
    });
    let on_click = move |event: MouseEvent| {
        let Some(button) = clicked(&event) else { return };
        if let Some(content) = untrack(content) {
            copy(button, content);
        } else {
            waiting.set_value(Some(SendWrapper::new(button)));
            load();
        }
    };
    view! {
        <button
            type="button"
            class="button quiet small copy"
            data-testid="copy"
            aria-describedby=described_by
            on:click=on_click
        >
            <span class="copy-label">{text.copy()}</span>
            <span class="copy-done">{text.copied()}</span>
            <span class="copy-again">{text.copy_again()}</span>
        </button>
    }
    .into_any()
}

fn copy(button: Element, content: Arc<str>) {
    spawn_local(async move {
        // Some browsers copy only right after a click, and the text may have arrived later.
        let feedback = if browser::copy(&content).await.is_ok() { "data-copied" } else { "data-copy-failed" };
        // A removed button needs no label.
        let _ = button.set_attribute(feedback, "");
        browser::sleep(FEEDBACK_DURATION).await;
        let _ = button.remove_attribute(feedback);
    });
}

fn clicked(event: &MouseEvent) -> Option<Element> {
    let target: Element = event.target()?.dyn_into().ok()?;
    target.closest("button:is(.copy, .download, .wrap)").ok()?
}

fn language_of(button: &Element) -> String {
    let bar = button.closest(".code-bar").ok().flatten();
    let language = bar.and_then(|bar| bar.query_selector(".code-language").ok()?);
    language.and_then(|language| language.text_content()).unwrap_or_default()
}

/// Returns the table above the button.
fn csv_of(button: &Element) -> Option<String> {
    let rows = button.closest(".table-block").ok()??.query_selector_all("tr").ok()?;
    let rows = (0..rows.length()).filter_map(|at| {
        let cells = rows.item(at)?.child_nodes();
        let cells = (0..cells.length()).filter_map(|at| cell_source(&cells.item(at)?));
        Some(cells.collect())
    });
    Some(export::csv(&rows.collect::<Vec<Vec<String>>>()))
}

/// Returns the source of a cell: formulas as TeX, line breaks as such, and no footnote marks.
fn cell_source(cell: &Node) -> Option<String> {
    let copy: Element = cell.clone_node_with_deep(true).ok()?.dyn_into().ok()?;
    let parts = copy.query_selector_all(".math, .footnote-ref, br").ok()?;
    for part in (0..parts.length()).filter_map(|at| parts.item(at)?.dyn_into::<Element>().ok()) {
        let source = match part.get_attribute("data-tex") {
            Some(tex) if part.has_attribute("data-display") => format!("$${tex}$$"),
            Some(tex) => format!("${tex}$"),
            None if part.tag_name() == "BR" => "\n".to_owned(),
            None => String::new(),
        };
        // Replaces the element, because `br` cannot contain text.
        let _ = part.replace_with_with_str_1(&source);
    }
    copy.text_content()
}

fn code_of(button: &Element) -> Option<String> {
    button.closest(".code").ok()??.query_selector("pre > code").ok()??.text_content()
}
