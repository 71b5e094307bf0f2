//! Tallybook's page. The server renders it whole, the browser hydrates it and from then on talks to the same REST and
//! SSE API as every other client; there are no server functions, which would be a second public API.
//!
//! - [`shell`] is the HTML document, [`App`] what is in it, [`PageData`] what a page needs while the server renders it.
//! - [`transcript`] is the pure heart: what the page knows of a conversation, and how events change it.
//!
//! Nothing here knows how anything is stored, or which web server serves it.

#![allow(unreachable_pub, reason = "`#[component]` writes `pub` into the code that it makes for a private component")]

mod api;
mod app;
mod browser;
mod components;
mod conversation_list;
mod data;
mod days;
pub mod format;
pub mod json;
mod keys;
mod language;
pub mod markdown;
mod pages;
mod preferences;
mod session;
mod text;
pub mod transcript;

pub use app::{App, shell};
pub use data::{PageData, PageError, PageFuture};
pub use language::Language;
pub use preferences::{LANGUAGE_COOKIE, Preferences, THEME_COOKIE, Theme};

/// Takes over the page that the server has rendered. Called once by the script in [`shell`].
#[cfg(feature = "hydrate")]
#[wasm_bindgen::prelude::wasm_bindgen]
pub fn hydrate() {
    console_error_panic_hook::set_once();
    leptos::mount::hydrate_body(App);
}
