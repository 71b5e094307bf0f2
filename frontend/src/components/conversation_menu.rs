//! The open conversation's title, and what can be done with it. The menu is the browser's own popover, so it closes by
//! itself, and files are had from it before the page is alive.

use leptos::prelude::*;
use uuid::Uuid;

use crate::{
    api, browser,
    components::icon::{Draw, Icon},
    language::use_language,
};

const MENU: &str = "conversation-menu";

/// The title as the button that opens the menu.
#[component]
pub(crate) fn ConversationMenu(uuid: Uuid, title: String, rename: Callback<()>, delete: Callback<()>) -> impl IntoView {
    let text = use_language();
    let file = |format: &'static str, label: &'static str| {
        let address = format!("{}/export?format={format}", api::conversation_url(uuid));
        // The server gives the name.
        view! {
            <a class="button quiet" href=address download="" data-testid=format>
                <Draw icon=Icon::Download />
                {label}
            </a>
        }
    };
    let act = |icon: Icon, class: &'static str, name: &'static str, label: &'static str, run: Callback<()>| {
        view! {
            <button
                type="button"
                class=class
                data-testid=name
                popovertarget=MENU
                popovertargetaction="hide"
                disabled=!browser::IS_HERE
                on:click=move |_| run.run(())
            >
                <Draw icon />
                {label}
            </button>
        }
    };
    view! {
        <div class="header-title has-menu">
            <button
                type="button"
                class="button quiet"
                data-testid="conversation-menu"
                popovertarget=MENU
                title=text.conversation_menu()
            >
                <span class="header-name">{title}</span>
                <Draw icon=Icon::Chevron />
            </button>
            <div class="menu" id=MENU popover="auto">
                {act(Icon::Pencil, "button quiet", "menu-rename", text.rename(), rename)}
                {file("markdown", text.export_markdown())}
                {file("json", text.export_json())}
                <hr />
                {act(Icon::Bin, "button quiet danger", "menu-delete", text.delete(), delete)}
            </div>
        </div>
    }
    .into_any()
}
