//! Links to the page's style sheets. There are two, because a first visit does not need the second
//! (`components::lazy`).

use leptos::prelude::*;

/// Renders the link to the style of a new chat and of all that documents have in common. The font is preloaded with
/// it. Otherwise it would wait for the WASM module, which is ten times as large.
pub(crate) fn style(folder: &str) -> impl IntoView + use<> {
    view! {
        <link rel="preload" href=format!("{folder}/serif.woff2") r#as="font" r#type="font/woff2" crossorigin="anonymous" />
        <link rel="stylesheet" href=format!("{folder}/tallybook.css") />
    }
}

/// Renders the link to the style of everything else.
pub(crate) fn lazy_style(folder: &str) -> impl IntoView + use<> {
    view! { <link rel="stylesheet" href=format!("{folder}/lazy.css") /> }
}
