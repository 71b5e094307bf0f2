//! Text that the user entered into the server-rendered message field before the page was interactive. The document's
//! script (`app`) enables that field; this file moves its text into the field of the mounted page.

use wasm_bindgen::JsCast;
use web_sys::{Element, Event, HtmlFormElement, HtmlTextAreaElement};

use super::until_none;

/// Marks the field while an input method composes text in it.
pub(crate) const COMPOSING: &str = "data-composing";

/// Marks the field if the user asked to send its text.
pub(crate) const SENDS: &str = "data-sends";

/// Waits until no input method composes text in the field. A composition cannot continue in another field.
#[cfg_attr(not(feature = "browser"), expect(dead_code, reason = "the server does not mount the page"))]
pub(crate) async fn composed() {
    until_none(&format!("[{COMPOSING}]")).await;
}

/// Copies the text and selection of the field with this ID from the old page to the new one. Sends the text if the
/// user asked for that. Call it once the new page is in the document.
pub(crate) fn carry_over(old: &Element, new: &Element, id: &str) -> Option<()> {
    let field = |page: &Element| page.query_selector(&format!("#{id}")).ok()??.dyn_into::<HtmlTextAreaElement>().ok();
    let (old, new) = (field(old)?, field(new)?);
    if old.value() != new.value() {
        new.set_value(&old.value());
        new.dispatch_event(&Event::new("input").ok()?).ok()?;
    }
    let (start, end) = (old.selection_start().ok()??, old.selection_end().ok()??);
    new.set_selection_range(start, end).ok()?;
    if old.has_attribute(SENDS) {
        new.closest("form").ok()??.dyn_into::<HtmlFormElement>().ok()?.request_submit().ok()?;
    }
    Some(())
}
