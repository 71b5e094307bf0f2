//! The header above the conversation: the button of the sidebar, the title with its menu, the model, and the tools.

pub(crate) mod conversation_menu;
pub(crate) mod model_picker;
pub(crate) mod tools_button;
pub(crate) mod tools_panel;

use leptos::prelude::*;
use uuid::Uuid;

use crate::{
    browser,
    components::{
        dialogs::usage_sheet::UsageOf,
        header::{conversation_menu::ConversationMenu, model_picker::ModelPicker, tools_button::ToolsButton},
        lazy::{LazyPart, lazy},
        parts::{
            icon::{Draw, Icon},
            ids::{HEADER_ID, SIDEBAR_ID},
            typing::focus_composer,
        },
    },
    conversation_list::ConversationList,
    i18n::PRODUCT,
    language::use_language,
    models::Models,
    preferences::{Preferences, SIDEBAR_COOKIE, Sidebar},
    reactive::memo,
    session::Session,
    tools::Tools,
};

/// The header above the conversation.
#[component]
pub(crate) fn Header(
    models: Models,
    tools: Tools,
    /// The session of the open conversation or new chat.
    session: RwSignal<Option<Session>>,
    /// The open conversation.
    current: Signal<Option<Uuid>>,
    /// Its title, once it has one.
    title: Signal<Option<String>>,
    /// `true` if a chat is shown, `false` for the settings.
    is_chat: Memo<bool>,
    /// Opens the find bar.
    open_find: Callback<()>,
    list: ConversationList,
    /// The conversation that is being renamed in the header.
    renaming: RwSignal<Option<Uuid>>,
    sidebar_open: RwSignal<bool>,
) -> impl IntoView {
    let text = use_language();
    // Another conversation must not open with a field. The header may be built because a title is to be edited in it.
    Effect::new(move |was: Option<()>| {
        current.track();
        if was.is_some() {
            renaming.set(None);
        }
    });
    // A change of the title elsewhere must not replace the field while the user types in it.
    let name = memo(move |_| match current.get() {
        _ if !is_chat.get() => Name::Settings,
        Some(uuid) if renaming.get() == Some(uuid) && title.with(Option::is_some) => Name::Field(uuid),
        uuid => uuid.filter(|_| title.with(Option::is_some)).map_or(Name::Product, Name::Title),
    });
    let sharing = RwSignal::new(None);
    let used = RwSignal::new(None);
    let named = move || match name.get() {
        Name::Settings => view! { <span class="header-title header-name">{text.settings()}</span> }.into_any(),
        Name::Product => view! { <span class="header-title header-name narrow-only">{PRODUCT}</span> }.into_any(),
        Name::Field(uuid) => {
            let title = title.get_untracked().unwrap_or_default();
            let done = Callback::new(move |new: Option<String>| {
                renaming.set(None);
                if let Some(new) = new {
                    list.rename(uuid, new);
                }
                focus_composer();
            });
            let field = lazy(move || Some(LazyPart::TitleField { title: title.clone(), done }));
            view! { <div class="header-rename">{field}</div> }.into_any()
        }
        Name::Title(uuid) => {
            let rename = Callback::new(move |()| renaming.set(Some(uuid)));
            let share = Callback::new(move |()| sharing.set(Some(uuid)));
            let usage = Callback::new(move |()| used.set(Some(UsageOf { conversation: uuid, message: None })));
            view! { <ConversationMenu uuid title list find=open_find share usage rename /> }.into_any()
        }
    };
    view! {
        <header class="header" id=HEADER_ID data-part="">
            <button
                type="button"
                class="button icon-only quiet narrow-only"
                id="open-sidebar"
                data-testid="open-sidebar"
                aria-label=text.open_sidebar()
                aria-controls=SIDEBAR_ID
                aria-expanded=move || sidebar_open.get().to_string()
                on:click=move |_| sidebar_open.set(true)
            >
                <Draw icon=Icon::Menu />
            </button>
            <FoldButton sidebar_open />
            {named}
            {move || is_chat.get().then(|| {
                models.track();
                untrack(|| view! { <ModelPicker models current session /> }.into_any())
            })}
            {move || is_chat.get().then(|| view! { <ToolsButton tools current /> }.into_any())}
            {lazy(move || sharing.get().map(|conversation| LazyPart::Share { conversation, sharing }))}
            {lazy(move || used.get().map(|of| LazyPart::Usage { of, shown: used }))}
        </header>
    }
    .into_any()
}

/// The content of the header's title.
#[derive(Clone, PartialEq, Eq)]
enum Name {
    Settings,
    /// The product's name: a new chat has no title yet.
    Product,
    Field(Uuid),
    /// The title with its menu. A new title does not replace the element, so an open menu stays open.
    Title(Uuid),
}

/// Shows or folds the sidebar on a wide screen, and keeps the choice.
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
            id="fold-sidebar"
            data-testid="fold-sidebar"
            aria-label=label
            title=label
            aria-controls=SIDEBAR_ID
            aria-expanded=move || is_shown().to_string()
            on:click=toggle
        >
            <Draw icon=Icon::Panel />
        </button>
    }
}
