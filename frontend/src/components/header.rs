//! The bar above the conversation: the list beside it shown or folded away, what is open and what can be done with it, and
//! the model that answers.

use leptos::prelude::*;
use tallybook_protocol::ModelInfo;
use uuid::Uuid;

use crate::{
    browser,
    components::{
        conversation_menu::ConversationMenu,
        icon::{Draw, Icon},
        title_field::TitleField,
    },
    language::use_language,
    preferences::{Preferences, SIDEBAR_COOKIE, Sidebar},
    text::PRODUCT,
};

/// What a reader can do with the open conversation from here.
#[derive(Clone, Copy)]
pub(crate) struct ConversationActions {
    /// Takes the old title and the new one.
    pub(crate) rename: Callback<(Uuid, String, String)>,
    pub(crate) delete: Callback<Uuid>,
}

/// The bar above the conversation.
#[component]
pub(crate) fn Header(
    model: ModelInfo,
    /// The open conversation.
    current: Signal<Option<Uuid>>,
    /// Its title, once it has one.
    title: Signal<Option<String>>,
    actions: ConversationActions,
    sidebar_open: RwSignal<bool>,
) -> impl IntoView {
    let text = use_language();
    let ModelInfo { provider, model } = model;
    let told = text.model(&provider, &model);
    let renaming = RwSignal::new(None::<Uuid>);
    // What is shown anew must not begin in a field.
    Effect::new(move || {
        current.track();
        renaming.set(None);
    });
    let open = Memo::new(move |_| current.get().zip(title.get()));
    let named = move || match open.get() {
        None => view! { <span class="header-title header-name narrow-only">{PRODUCT}</span> }.into_any(),
        Some((uuid, title)) if renaming.get() == Some(uuid) => {
            let old = title.clone();
            let done = Callback::new(move |new: Option<String>| {
                renaming.set(None);
                if let Some(new) = new {
                    actions.rename.run((uuid, old.clone(), new));
                }
            });
            view! { <div class="header-rename"><TitleField title done /></div> }.into_any()
        }
        Some((uuid, title)) => {
            let rename = Callback::new(move |()| renaming.set(Some(uuid)));
            let delete = Callback::new(move |()| actions.delete.run(uuid));
            view! { <ConversationMenu uuid title rename delete /> }.into_any()
        }
    };
    view! {
        <header class="header">
            <button
                type="button"
                class="button icon-only quiet narrow-only"
                data-testid="open-sidebar"
                aria-label=text.open_sidebar()
                aria-controls="sidebar"
                aria-expanded=move || sidebar_open.get().to_string()
                on:click=move |_| sidebar_open.set(true)
            >
                <Draw icon=Icon::Menu />
            </button>
            <FoldButton sidebar_open />
            {named}
            <p class="header-model" data-testid="model" title=told>
                <span class="visually-hidden">{text.model_label()}</span>
                <span class="header-provider">{provider}</span>
                <span class="header-model-name">{model}</span>
            </p>
        </header>
    }
    .into_any()
}

/// Shows the list of conversations on a wide screen, or folds it away; the choice is kept.
#[component]
fn FoldButton(sidebar_open: RwSignal<bool>) -> impl IntoView {
    let text = use_language();
    let chosen = use_context::<Preferences>().unwrap_or_default().sidebar;
    let sidebar = RwSignal::new(chosen);
    let is_shown = move || sidebar.get() == Sidebar::Shown;
    let label = move || if is_shown() { text.close_sidebar() } else { text.open_sidebar() };
    let toggle = move |_| {
        let next = if sidebar.get_untracked() == Sidebar::Shown { Sidebar::Folded } else { Sidebar::Shown };
        sidebar.set(next);
        sidebar_open.set(false);
        browser::remember(SIDEBAR_COOKIE, next.name());
        browser::mark_root("data-sidebar", next.name());
    };
    view! {
        <button
            type="button"
            class="button icon-only quiet wide-only"
            data-testid="fold-sidebar"
            aria-label=label
            title=label
            aria-controls="sidebar"
            aria-expanded=move || is_shown().to_string()
            disabled=!browser::IS_HERE
            on:click=toggle
        >
            <Draw icon=Icon::Panel />
        </button>
    }
}
