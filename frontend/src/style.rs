//! The links to how the page looks: two files, since a first visit can do without the second (`components::later`).

use leptos::prelude::*;

/// How a new chat looks, and what every document of ours is made of.
pub(crate) fn style(folder: &str) -> impl IntoView + use<> {
    view! { <link rel="stylesheet" href=format!("{folder}/tallybook.css") /> }
}

/// How all else looks, besides.
pub(crate) fn later_style(folder: &str) -> impl IntoView + use<> {
    view! { <link rel="stylesheet" href=format!("{folder}/later.css") /> }
}
