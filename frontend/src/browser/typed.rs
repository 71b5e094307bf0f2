//! What was written in the message field that the server drew, before the page was alive. The script that lets one write there
//! stands in the document (`app`); here it is taken over.

use wasm_bindgen::JsCast;
use web_sys::{Element, Event, HtmlFormElement, HtmlTextAreaElement};

use super::until_none;

/// Marks the field while an input method composes in it.
pub(crate) const COMPOSING: &str = "data-composing";

/// Marks the field when what it holds is to be sent.
pub(crate) const SENDS: &str = "data-sends";

/// Waits until no input method composes in the field, which it could not go on with in another one.
#[cfg_attr(not(feature = "browser"), expect(dead_code, reason = "a server takes nothing over"))]
pub(crate) async fn composed() {
    until_none(&format!("[{COMPOSING}]")).await;
}

/// Puts what stands in the field of this id, and the caret, into the one that takes its place; and sends it if that was asked for.
/// To be called once the new one is in the document.
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
