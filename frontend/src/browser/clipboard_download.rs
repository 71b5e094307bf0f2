//! Clipboard and file downloads.

use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Element, HtmlDocument};

use super::{Unreachable, window};

/// Copies `text` to the clipboard.
pub(crate) async fn copy(text: &str) -> Result<(), Unreachable> {
    let clipboard = js_sys::Reflect::get(&window()?.navigator(), &"clipboard".into())?;
    if clipboard.is_undefined() {
        // Pages over plain HTTP, as in a home network, have no clipboard API; the older copy command works there.
        return copy_selected(text);
    }
    JsFuture::from(window()?.navigator().clipboard().write_text(text)).await?;
    Ok(())
}

fn copy_selected(text: &str) -> Result<(), Unreachable> {
    let document: HtmlDocument = window()?.document().ok_or(Unreachable)?.unchecked_into();
    let element = document.create_element("pre")?;
    element.set_text_content(Some(text));
    document.body().ok_or(Unreachable)?.append_child(&element)?;
    let copied = copy_element(&document, &element);
    element.remove();
    copied
}

fn copy_element(document: &HtmlDocument, element: &Element) -> Result<(), Unreachable> {
    let selection = document.get_selection()?.ok_or(Unreachable)?;
    selection.select_all_children(element)?;
    let copied = document.exec_command("copy");
    selection.remove_all_ranges()?;
    if copied? { Ok(()) } else { Err(Unreachable) }
}

/// Saves `text` as a file with this name, in the browser's download folder.
pub(crate) fn save_text(name: &str, text: &str) {
    // A browser that refuses shows that itself.
    let _ = try_save_text(name, text);
}

fn try_save_text(name: &str, text: &str) -> Result<(), JsValue> {
    let parts = js_sys::Array::of1(&text.into());
    let kind = web_sys::BlobPropertyBag::new();
    // Never a type that the browser could run as a page of this origin.
    kind.set_type("text/plain;charset=utf-8");
    let blob = web_sys::Blob::new_with_str_sequence_and_options(&parts, &kind)?;
    let address = web_sys::Url::create_object_url_with_blob(&blob)?;
    let document = web_sys::window().and_then(|window| window.document()).ok_or(JsValue::UNDEFINED)?;
    let link: web_sys::HtmlAnchorElement = document.create_element("a")?.unchecked_into();
    link.set_href(&address);
    link.set_download(name);
    link.click();
    web_sys::Url::revoke_object_url(&address)
}

/// Opens the address of a file that the server serves as a download, so that the browser saves it.
pub(crate) fn download(url: &str) {
    if let Ok(window) = window() {
        let _ = window.location().assign(url);
    }
}
