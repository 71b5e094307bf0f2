//! The HTML document around the page, and the addresses within it.

use leptos::{html, nonce::use_nonce, prelude::*};
use leptos_meta::{MetaTags, provide_meta_context};
use leptos_router::{
    SsrMode,
    components::{ParentRoute, Route, Router, Routes},
    path,
};

use crate::{
    data,
    pages::{chat::ChatPage, not_found::NotFoundPage},
    preferences::Preferences,
};

/// Loads the browser side and lets it take over. Where there is a conversation, its newest message is shown first.
///
/// The second file is loaded with the first block that it has something to do for, and asked for again with the next one
/// when it did not come; until then the page reads well without it.
fn hydrate_from(folder: &str) -> String {
    format!(
        "const thread = document.getElementById('thread');\
         if (thread) thread.scrollTop = thread.scrollHeight;\
         const load = name => import(`{folder}/${{name}}.js`).then(program =>\
         program.default({{ module_or_path: `{folder}/${{name}}_bg.wasm` }}).then(() => program));\
         let second;\
         window.typeset = place => {{\
         if (place.querySelector('.code-language:not(:empty), .math')) \
         (second ??= load('typeset')).then(program => program.typeset(place), () => second = undefined) }};\
         load('tallybook').then(page => page.hydrate());"
    )
}

/// The whole HTML document. `folder` is the address of the folder with the page's program and style.
pub fn shell(folder: &str) -> impl IntoView + use<> {
    let file = |name: &str| format!("{folder}/{name}");
    let Preferences { language, theme } = data::preferences();
    view! {
        <!DOCTYPE html>
        <html lang=language.code() data-theme=theme.name()>
            <head>
                <meta charset="utf-8" />
                <meta name="viewport" content="width=device-width, initial-scale=1, interactive-widget=resizes-content" />
                <meta name="color-scheme" content="light dark" />
                <link rel="icon" type="image/svg+xml" href="/favicon.svg" />
                <link rel="stylesheet" href=file("tallybook.css") />
                <link rel="modulepreload" href=file("tallybook.js") nonce=use_nonce() />
                <link
                    rel="preload"
                    href=file("tallybook_bg.wasm")
                    r#as="fetch"
                    r#type="application/wasm"
                    crossorigin="anonymous"
                />
                {html::script().r#type("module").nonce(use_nonce()).inner_html(hydrate_from(folder))}
                <MetaTags />
            </head>
            <body>
                <App />
            </body>
        </html>
    }
}

/// What is in the document: one page for a new chat and every conversation, so that the first message of a new chat can
/// move to its own address without anything being built anew.
#[component]
pub fn App() -> impl IntoView {
    provide_meta_context();
    provide_context(data::preferences());
    view! {
        <Router>
            <Routes fallback=NotFoundPage>
                <ParentRoute path=path!("") view=ChatPage ssr=SsrMode::Async>
                    <Route path=path!("") view=|| () ssr=SsrMode::Async />
                    <Route path=path!("c/:uuid") view=|| () ssr=SsrMode::Async />
                </ParentRoute>
            </Routes>
        </Router>
    }
}
