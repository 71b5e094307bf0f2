//! Copying code. One listener above all messages hears the buttons, which are plain nodes.

use std::time::Duration;

use leptos::{ev::MouseEvent, task::spawn_local};
use wasm_bindgen::JsCast;
use web_sys::Element;

use crate::browser;

/// How long a button says that it did it.
const TOLD_FOR: Duration = Duration::from_secs(2);

/// Copies the code beside the button that was clicked, if it was one.
pub(crate) fn on_click(event: &MouseEvent) {
    let Some((button, code)) = clicked(event) else { return };
    spawn_local(async move {
        if browser::copy(&code).await.is_err() || button.set_attribute("data-copied", "").is_err() {
            return;
        }
        browser::sleep(TOLD_FOR).await;
        // A button that is gone by now needs no label.
        let _ = button.remove_attribute("data-copied");
    });
}

fn clicked(event: &MouseEvent) -> Option<(Element, Element)> {
    let target: Element = event.target()?.dyn_into().ok()?;
    let button = target.closest("button.copy").ok()??;
    let code = button.closest(".code").ok()??.query_selector("pre > code").ok()??;
    Some((button, code))
}
