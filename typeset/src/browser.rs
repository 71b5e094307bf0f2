//! What `page` uses of the browser that `web_sys` has not, or has only in part.

use js_sys::{Array, Function, Object, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Element, Node};

#[wasm_bindgen]
extern "C" {
    /// Tells which elements come into view and leave it. One that is taken from the page leaves too.
    pub(crate) type IntersectionObserver;

    #[wasm_bindgen(constructor, catch)]
    fn new(callback: &Function, options: &Object) -> Result<IntersectionObserver, JsValue>;

    #[wasm_bindgen(method)]
    pub(crate) fn observe(this: &IntersectionObserver, element: &Element);

    #[wasm_bindgen(method)]
    pub(crate) fn unobserve(this: &IntersectionObserver, element: &Element);

    /// An element that came or left.
    pub(crate) type IntersectionObserverEntry;

    #[wasm_bindgen(method, getter, js_name = isIntersecting)]
    pub(crate) fn is_intersecting(this: &IntersectionObserverEntry) -> bool;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn target(this: &IntersectionObserverEntry) -> Element;

    /// Ranges that the style gives a look of their own, by name.
    pub(crate) type Highlight;

    #[wasm_bindgen(constructor, catch)]
    fn new() -> Result<Highlight, JsValue>;

    #[wasm_bindgen(method)]
    pub(crate) fn add(this: &Highlight, range: &StaticRange);

    #[wasm_bindgen(method)]
    pub(crate) fn delete(this: &Highlight, range: &StaticRange) -> bool;

    type HighlightRegistry;

    #[wasm_bindgen(method)]
    fn set(this: &HighlightRegistry, name: &str, highlight: &Highlight);

    #[wasm_bindgen(thread_local_v2, js_namespace = CSS, js_name = highlights)]
    static HIGHLIGHTS: Option<HighlightRegistry>;

    /// A range that costs nothing when the page around it changes.
    pub(crate) type StaticRange;

    #[wasm_bindgen(constructor, catch)]
    fn new(ends: &Object) -> Result<StaticRange, JsValue>;

    #[wasm_bindgen(js_namespace = performance)]
    fn now() -> f64;

    #[wasm_bindgen(js_name = addEventListener)]
    fn add_event_listener(name: &str, listener: &Function);

    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(callback: &Function, ms: u32);
}

/// Watches for elements within a screen's height of what can be seen, and tells `callback` of them, as a list of
/// [`IntersectionObserverEntry`].
pub(crate) fn observer(
    callback: impl FnMut(Array, IntersectionObserver) + 'static,
) -> Result<IntersectionObserver, JsValue> {
    let options = Object::new();
    // What scrolls is an element, and of that the first of the two says nothing.
    Reflect::set(&options, &"rootMargin".into(), &"100%".into())?;
    Reflect::set(&options, &"scrollMargin".into(), &"100%".into())?;
    // It is there as long as the page.
    let callback = Closure::<dyn FnMut(Array, IntersectionObserver)>::new(callback).into_js_value();
    IntersectionObserver::new(callback.unchecked_ref(), &options)
}

/// Calls `act` whenever the page is about to be printed.
pub(crate) fn before_print(act: impl FnMut() + 'static) {
    // It is there as long as the page.
    let act = Closure::<dyn FnMut()>::new(act).into_js_value();
    add_event_listener("beforeprint", act.unchecked_ref());
}

/// A highlight under this name; `None` where the browser has none.
pub(crate) fn highlight(name: &str) -> Option<Highlight> {
    HIGHLIGHTS.with(|registry| {
        let highlight = Highlight::new().ok()?;
        registry.as_ref()?.set(name, &highlight);
        Some(highlight)
    })
}

/// The range between two places, each a text node with an offset in it.
pub(crate) fn range(start: (&Node, u32), end: (&Node, u32)) -> Result<StaticRange, JsValue> {
    let ends = Object::new();
    Reflect::set(&ends, &"startContainer".into(), start.0)?;
    Reflect::set(&ends, &"startOffset".into(), &start.1.into())?;
    Reflect::set(&ends, &"endContainer".into(), end.0)?;
    Reflect::set(&ends, &"endOffset".into(), &end.1.into())?;
    StaticRange::new(&ends)
}

/// Sees to it that long work leaves the browser time for its reader.
pub(crate) struct Pace {
    since: f64,
}

impl Pace {
    /// How many milliseconds of work may go by in one piece.
    const PIECE_MS: f64 = 8.0;

    pub(crate) fn begin() -> Self {
        Self { since: now() }
    }

    /// Lets the browser do something else when it is time for that.
    pub(crate) async fn breathe(&mut self) {
        if now() - self.since < Self::PIECE_MS {
            return;
        }
        let later = Promise::new(&mut |resolve, _| set_timeout(&resolve, 0));
        // A timer cannot fail.
        let _ = JsFuture::from(later).await;
        self.since = now();
    }
}
