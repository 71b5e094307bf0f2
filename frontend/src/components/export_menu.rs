//! Keeping the open conversation as a file. The menu is the browser's own popover, so it closes by itself and works
//! before the page is alive.

use leptos::prelude::*;
use uuid::Uuid;

use crate::{
    api,
    components::icon::{Draw, Icon},
    language::use_language,
};

const MENU: &str = "export-menu";

/// The button and its menu; nothing in a new chat.
#[component]
pub(crate) fn ExportMenu(
    /// The open conversation.
    current: Signal<Option<Uuid>>,
) -> impl IntoView {
    let text = use_language();
    move || {
        current.get().map(|uuid| {
            let item = |format: &'static str, label: &'static str| {
                let address = format!("{}/export?format={format}", api::conversation_url(uuid));
                // The server gives the name.
                view! { <a class="menu-item" href=address download="" data-testid=format>{label}</a> }
            };
            view! {
                <button
                    type="button"
                    class="icon-button export-button"
                    data-testid="export"
                    popovertarget=MENU
                    aria-label=text.export()
                    title=text.export()
                >
                    <Draw icon=Icon::Download />
                </button>
                <div class="menu" id=MENU popover="auto">
                    {item("markdown", text.export_markdown())}
                    {item("json", text.export_json())}
                </div>
            }
        })
    }
}
