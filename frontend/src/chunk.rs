//! A WASM chunk: code of the page in a file of its own, which is loaded when it is needed. If it fails to load, the
//! page says so and retries.

use futures_util::future::{LocalBoxFuture, join};
use leptos::{prelude::*, task::spawn_local};

use crate::{browser, mount_schedule::in_place, reactive::effect};

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

    /// Loads the chunk once one of these events happens in one of the elements with these IDs, because the user then
    /// waits for it.
    pub(crate) fn want_when_used(self, ids: &'static [&'static str], events: &'static [&'static str]) {
        let listening = StoredValue::new_local(None::<Box<dyn FnOnce()>>);
        effect(move || {
            if self.is_here.get() {
                if let Some(end) = listening.try_update_value(Option::take).flatten() {
                    end();
                }
            } else {
                listening.set_value(Some(Box::new(browser::when_used(ids, events, move || self.want()))));
            }
        });
    }

    /// Loads the chunk, unless it is loaded or being loaded. Its code is used once the page is attached.
    pub(crate) fn fetch(self) {
        if self.is_here.get_untracked() || self.is_coming.get_value() {
            return;
        }
        self.is_coming.set_value(true);
        let placed = in_place();
        spawn_local(async move {
            let (is_here, ()) = join(load(self.load, move || self.is_wanted.get_value()), placed).await;
            self.is_coming.set_value(false);
            if is_here {
                self.is_here.set(true);
            }
        });
    }
}
