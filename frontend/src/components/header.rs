//! The bar above the conversation: the way to the sidebar on small screens, the model in use, and keeping the
//! conversation as a file.

use leptos::prelude::*;
use tallybook_protocol::ModelInfo;
use uuid::Uuid;

use crate::{
    components::{
        export_menu::ExportMenu,
        icon::{Draw, Icon},
    },
    language::use_language,
    text::PRODUCT,
};

/// The bar above the conversation.
#[component]
pub(crate) fn Header(
    model: ModelInfo,
    /// The open conversation.
    current: Signal<Option<Uuid>>,
    sidebar_open: RwSignal<bool>,
) -> impl IntoView {
    let text = use_language();
    view! {
        <header class="header">
            <button
                type="button"
                class="icon-button sidebar-button"
                data-testid="open-sidebar"
                aria-label=text.open_sidebar()
                aria-controls="sidebar"
                aria-expanded=move || sidebar_open.get().to_string()
                on:click=move |_| sidebar_open.set(true)
            >
                <Draw icon=Icon::Menu />
            </button>
            <span class="header-product">{PRODUCT}</span>
            <span class="header-model" data-testid="model" title=text.model(&model.model)>
                <span class="header-provider">{model.provider}</span>
                <span class="header-model-name">{model.model.clone()}</span>
            </span>
            <ExportMenu current />
        </header>
    }
    .into_any()
}
