//! What every section of the settings looks like.

use leptos::prelude::*;

/// A section: what it is about at the side, or above where there is no room, and what can be done.
pub(super) fn section(name: &'static str, title: &'static str, about: &'static str, content: AnyView) -> AnyView {
    let title_id = format!("setting-{name}");
    view! {
        <section class="setting" aria-labelledby=title_id.clone() data-testid=format!("section-{name}")>
            <div class="setting-about">
                <h2 id=title_id.clone()>{title}</h2>
                <p>{about}</p>
            </div>
            <div class="setting-content">{content}</div>
        </section>
    }
    .into_any()
}
