//! The bar above the conversation: the way to the sidebar on small screens, and the model in use.

use leptos::prelude::*;
use tallybook_protocol::ModelInfo;

use crate::{
    components::icon::{Draw, Icon},
    language::use_language,
    text::PRODUCT,
};

/// The bar above the conversation.
#[component]
pub(crate) fn Header(model: Option<ModelInfo>, sidebar_open: RwSignal<bool>) -> impl IntoView {
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
            {model.map(|model| view! {
                <span class="header-model" data-testid="model" title=text.model(&model.model)>
                    <span class="header-provider">{model.provider}</span>
                    <span class="header-model-name">{model.model.clone()}</span>
                </span>
            })}
        </header>
    }
    .into_any()
}
