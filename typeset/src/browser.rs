//! Bindings to browser interfaces that `page` uses and that `web_sys` lacks or covers only in part.

use js_sys::{Array, Function, Object, Promise, Reflect};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;
use web_sys::{Element, Node};

#[wasm_bindgen]
extern "C" {
    /// Reports which elements enter or leave the viewport. An element that is removed from the page counts as leaving.
    pub(crate) type IntersectionObserver;

    #[wasm_bindgen(constructor, catch)]
    fn new(callback: &Function, options: &Object) -> Result<IntersectionObserver, JsValue>;

    #[wasm_bindgen(method)]
    pub(crate) fn observe(this: &IntersectionObserver, element: &Element);

    #[wasm_bindgen(method)]
    pub(crate) fn unobserve(this: &IntersectionObserver, element: &Element);

    /// An element that entered or left.
    pub(crate) type IntersectionObserverEntry;

    #[wasm_bindgen(method, getter, js_name = isIntersecting)]
    pub(crate) fn is_intersecting(this: &IntersectionObserverEntry) -> bool;

    #[wasm_bindgen(method, getter)]
    pub(crate) fn target(this: &IntersectionObserverEntry) -> Element;

    /// A set of ranges that the style sheet styles by the set's name.
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

    /// A range that the browser does not update when the page changes, so it costs nothing.
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

/// Creates an observer that reports elements within one screen height of the viewport. `callback` receives a list of
/// [`IntersectionObserverEntry`].
pub(crate) fn observer(
    callback: impl FnMut(Array, IntersectionObserver) + 'static,
) -> Result<IntersectionObserver, JsValue> {
    let options = Object::new();
    // Sets both margins: on this page an element scrolls instead of the document, and `rootMargin` does not apply to
    // scrolling elements.
    Reflect::set(&options, &"rootMargin".into(), &"100%".into())?;
    Reflect::set(&options, &"scrollMargin".into(), &"100%".into())?;
    // The closure lives as long as the page.
    let callback = Closure::<dyn FnMut(Array, IntersectionObserver)>::new(callback).into_js_value();
    IntersectionObserver::new(callback.unchecked_ref(), &options)
}

/// Calls `act` whenever the page is about to be printed.
pub(crate) fn before_print(act: impl FnMut() + 'static) {
    // The closure lives as long as the page.
    let act = Closure::<dyn FnMut()>::new(act).into_js_value();
    add_event_listener("beforeprint", act.unchecked_ref());
}

/// Registers a highlight with this name. `None` if the browser does not support highlights.
pub(crate) fn highlight(name: &str) -> Option<Highlight> {
    HIGHLIGHTS.with(|registry| {
        let highlight = Highlight::new().ok()?;
        registry.as_ref()?.set(name, &highlight);
        Some(highlight)
    })
}

/// Creates the range between two positions, each a text node with an offset in it.
pub(crate) fn range(start: (&Node, u32), end: (&Node, u32)) -> Result<StaticRange, JsValue> {
    let ends = Object::new();
    Reflect::set(&ends, &"startContainer".into(), start.0)?;
    Reflect::set(&ends, &"startOffset".into(), &start.1.into())?;
    Reflect::set(&ends, &"endContainer".into(), end.0)?;
    Reflect::set(&ends, &"endOffset".into(), &end.1.into())?;
    StaticRange::new(&ends)
}

/// Pauses long work regularly, so that the page stays responsive.
pub(crate) struct Pace {
    since: f64,
}

impl Pace {
    /// Maximum duration of work without a pause, in milliseconds.
    const PIECE_MS: f64 = 8.0;

    pub(crate) fn begin() -> Self {
        Self { since: now() }
    }

    /// Yields to the browser if the maximum duration has passed.
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
