//! Highlights of texts with the CSS Custom Highlight API: the style sets how the ranges look, and the document is
//! unchanged. Browsers without the API show no highlights.

use wasm_bindgen::prelude::*;
use web_sys::Range;

#[wasm_bindgen]
extern "C" {
    /// A set of ranges with a style of their own.
    type Highlight;

    #[wasm_bindgen(constructor, catch)]
    fn new() -> Result<Highlight, JsValue>;

    #[wasm_bindgen(method)]
    fn add(this: &Highlight, range: &Range);

    #[wasm_bindgen(method, setter)]
    fn set_priority(this: &Highlight, priority: i32);

    type HighlightRegistry;

    #[wasm_bindgen(method)]
    fn set(this: &HighlightRegistry, name: &str, highlight: &Highlight);

    #[wasm_bindgen(method)]
    fn delete(this: &HighlightRegistry, name: &str) -> bool;

    #[wasm_bindgen(thread_local_v2, js_namespace = CSS, js_name = highlights)]
    static HIGHLIGHTS: Option<HighlightRegistry>;
}

/// A kind of highlight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Every match of the phrase in the find bar.
    Place,
    /// The place that the user went to. It is drawn above the other highlights.
    Found,
}

impl Mark {
    /// Returns the name of the highlight in the style.
    const fn name(self) -> &'static str {
        match self {
            Self::Place => "place",
            Self::Found => "found",
        }
    }
}

/// Highlights these ranges, in place of the previous ones.
pub(crate) fn show(mark: Mark, ranges: &[Range]) {
    // Without the API there is nothing to do.
    let _ = HIGHLIGHTS.with(|registry| -> Result<(), JsValue> {
        let Some(registry) = registry else { return Ok(()) };
        let highlight = Highlight::new()?;
        highlight.set_priority(i32::from(mark == Mark::Found));
        for range in ranges {
            highlight.add(range);
        }
        registry.set(mark.name(), &highlight);
        Ok(())
    });
}

/// Removes the highlight.
pub(crate) fn clear(mark: Mark) {
    HIGHLIGHTS.with(|registry| registry.as_ref().map(|registry| registry.delete(mark.name())));
}
