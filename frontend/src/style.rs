//! The links to how the page looks: two files, since a first visit can do without the second (`components::later`).

use leptos::prelude::*;

/// How a new chat looks, and what every document of ours is made of. The font is asked for with the style that names it:
/// later, it would wait for the page's program, which is ten times as large.
pub(crate) fn style(folder: &str) -> impl IntoView + use<> {
    view! {
        <link rel="preload" href=format!("{folder}/serif.woff2") r#as="font" r#type="font/woff2" crossorigin="anonymous" />
        <link rel="stylesheet" href=format!("{folder}/tallybook.css") />
    }
}

/// How all else looks, besides.
pub(crate) fn later_style(folder: &str) -> impl IntoView + use<> {
    view! { <link rel="stylesheet" href=format!("{folder}/later.css") /> }
}
