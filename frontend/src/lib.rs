//! Tallybook's page. The server renders the complete page; the browser mounts it and then uses the same REST and SSE
//! API as every other client. It has no server functions, because they would be a second public API.
//!
//! - [`shell`] renders the HTML document. [`PageData`] is the data source while the server renders.
//! - [`transcript`] is the pure core: the page's state of a conversation, and how events change it.
//!
//! Nothing here depends on the storage or on the web server.

#![allow(unreachable_pub, reason = "`#[component]` generates `pub` items even for a private component")]

mod address;
mod api;
mod app;
mod approval;
mod browser;
mod chunk;
mod components;
mod conversation_list;
mod data;
mod days;
mod drafts;
mod export;
mod feed;
pub mod format;
mod goal;
mod highlight;
mod i18n;
pub mod invisible;
pub mod json;
mod keys;
mod language;
mod message;
mod models;
mod mount_schedule;
mod new_chat;
mod notification;
mod outbox;
mod pages;
mod palette;
mod phrase;
mod places;
mod playback;
mod preferences;
mod reactive;
mod reading;
mod reveal;
mod scroll;
mod search;
mod session;
mod setup;
mod start;
mod style;
mod task;
mod tools;
pub mod transcript;
mod waiting;

pub use app::shell;
pub use data::{PageData, PageError, PageFuture, Permitted};
pub use language::Language;
#[cfg(feature = "ssr")]
pub use pages::{
    played::{PlayedAnswer, played_answer},
    shared::{SharedPageReader, shared_page},
};
pub use preferences::{
    CALL_PREVIEWS_COOKIE, LANGUAGE_COOKIE, LAST_MODEL_COOKIE, NEW_CHAT_MODEL_COOKIE, NOTIFICATIONS_COOKIE,
    NewChatModels, Preferences, SIDEBAR_COOKIE, SINGLE_KEYS_COOKIE, Sidebar, THEME_COOKIE, Theme,
};

/// Mounts the page that the server has rendered. The script in [`shell`] calls it once.
#[cfg(feature = "browser")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn mount() {
    console_error_panic_hook::set_once();
    wasm_bindgen_futures::spawn_local(app::mount());
}
