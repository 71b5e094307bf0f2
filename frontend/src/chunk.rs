//! A WASM chunk: code of the page in a file of its own, which is loaded when it is needed. If it fails to load, the
//! page says so and retries.

use futures_util::future::LocalBoxFuture;
use leptos::{prelude::*, task::spawn_local};

use crate::browser;

/// Loads a chunk with its style, and returns `true` if both succeeded.
pub(crate) type Load = fn() -> LocalBoxFuture<'static, bool>;

/// Loads a chunk, with retries, and returns `true` if it succeeded.
pub(crate) async fn load(load: Load, is_wanted: impl Fn() -> bool) -> bool {
    browser::load_chunk(async || load().await.then_some(()), is_wanted).await.is_some()
}

/// A chunk, and whether it is loaded.
#[derive(Clone, Copy)]
pub(crate) struct Chunk {
    load: Load,
    pub(crate) is_here: RwSignal<bool>,
    is_coming: StoredValue<bool>,
    is_wanted: StoredValue<bool>,
}

/// The chunk with messages, and with what handles the inputs of a session.
#[derive(Clone, Copy)]
pub(crate) struct MessagesChunk(pub(crate) Chunk);

impl Chunk {
    /// Creates a chunk. On the server, and on a page that begins with its code, it is loaded already.
    pub(crate) fn new(load: Load, is_here: bool) -> Self {
        let (is_coming, is_wanted) = (StoredValue::new(false), StoredValue::new(false));
        Self { load, is_here: RwSignal::new(is_here), is_coming, is_wanted }
    }

    /// Loads the chunk for a user who waits for it: if that fails, the page says so and retries.
    pub(crate) fn want(self) {
        self.is_wanted.set_value(true);
        self.fetch();
    }

    /// Loads the chunk, unless it is loaded or being loaded.
    pub(crate) fn fetch(self) {
        if self.is_here.get_untracked() || self.is_coming.get_value() {
            return;
        }
        self.is_coming.set_value(true);
        spawn_local(async move { self.end(load(self.load, move || self.is_wanted.get_value()).await) });
    }

    /// Begins to load the chunk for a user who waits for it. Call [`Self::end`] with the result.
    pub(crate) fn begin(self) -> impl Future<Output = bool> {
        self.is_coming.set_value(true);
        load(self.load, || true)
    }

    /// Records whether the chunk was loaded.
    pub(crate) fn end(self, is_here: bool) {
        self.is_coming.set_value(false);
        // It may have been loaded twice at once.
        if !self.is_here.get_untracked() {
            self.is_here.set(is_here);
        }
    }
}
