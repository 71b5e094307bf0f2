//! Parts of a text on the page, and the typesetter.

use wasm_bindgen::prelude::*;
use web_sys::Element;

#[wasm_bindgen]
extern "C" {
    /// Makes the typesetter highlight the code and typeset the formulas in a finished element. The function is in the
    /// page's script, which loads the typesetter if the element has code or formulas.
    #[wasm_bindgen(js_namespace = window)]
    pub fn typeset(place: &Element);
}

/// Adds a container element for a part of a text to `place`. Marks it as measured once the browser has laid it out,
/// which is in the frame after the next one.
pub(crate) fn append_part(place: &Element) -> Result<Element, JsValue> {
    let document = web_sys::window().and_then(|window| window.document()).ok_or(JsValue::UNDEFINED)?;
    let part = document.create_element("div")?;
    part.set_class_name("part");
    place.append_child(&part)?;
    let measured = part.clone();
    in_next_frame(move || {
        in_next_frame(move || {
            let _ = measured.set_attribute("data-measured", "");
        });
    });
    Ok(part)
}

fn in_next_frame(run: impl FnOnce() + 'static) {
    if let Some(window) = web_sys::window() {
        let _ = window.request_animation_frame(Closure::once_into_js(run).unchecked_ref());
    }
}
