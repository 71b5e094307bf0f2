//! The layout of a section of the settings.

use leptos::prelude::*;

/// A section: its title at the side, or above on a narrow screen, and its content.
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
