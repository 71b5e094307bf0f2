//! The menus of a conversation: that of the open one below its title, and that of the list, which all rows share. A
//! menu is a native popover, so the browser closes it, and its downloads work before the page is interactive.

use leptos::prelude::*;
use tallybook_nodes::bounded;
use uuid::Uuid;

use crate::{
    api, browser,
    components::parts::{
        icon::{Draw, Icon},
        ids::choice_id,
        menu,
    },
    conversation_list::ConversationList,
    language::use_language,
    mount_schedule::in_next_frame,
    reactive::memo,
};

/// The menu of the open conversation.
const HEADER_MENU: &str = "conversation-menu";

/// The menu of the list.
pub(crate) const ROW_MENU: &str = "row-menu";

/// The title as the button that opens the menu.
#[component]
pub(crate) fn ConversationMenu(
    uuid: Uuid,
    /// The title.
    title: Signal<Option<String>>,
    list: ConversationList,
    /// Opens the find bar.
    find: Callback<()>,
    share: Callback<()>,
    /// Shows the usage of the conversation.
    usage: Callback<()>,
    rename: Callback<()>,
) -> impl IntoView {
    let text = use_language();
    view! {
        <div class="header-title has-menu">
            <button
                type="button"
                class="button quiet"
                data-testid="conversation-menu"
                popovertarget=HEADER_MENU
                aria-haspopup="menu"
                title=text.conversation_menu()
            >
                <span class="header-name">{move || title.with(|title| title.as_deref().map(|title| bounded(title).into_owned()))}</span>
                <Draw icon=Icon::Chevron />
            </button>
            <div
                class="menu"
                id=HEADER_MENU
                role="menu"
                aria-label=text.conversation_menu()
                popover="auto"
                on:click=|event| menu::clicked(&event)
                on:keydown=|event| menu::press(&event)
                on:toggle=|event| { menu::toggled(&event); }
            >
                {items(Menu { id: HEADER_MENU, prefix: "menu-" }, uuid, list, Some((find, share, usage)), rename)}
            </div>
        </div>
    }
    .into_any()
}

/// The menu of the list, for the row whose button was clicked.
#[component]
pub(crate) fn RowMenu(
    list: ConversationList,
    /// The conversation whose menu is shown.
    shown: RwSignal<Option<Uuid>>,
) -> impl IntoView {
    let rename = Callback::new(move |()| list.renaming.set(shown.get_untracked()));
    let text = use_language();
    view! {
        <div
            class="menu row-menu"
            id=ROW_MENU
            role="menu"
            aria-label=text.more_actions()
            popover="auto"
            on:click=|event| menu::clicked(&event)
            on:keydown=|event| menu::press(&event)
            on:toggle=|event| { menu::toggled(&event); }
        >
            {move || shown.get().map(|uuid| items(Menu { id: ROW_MENU, prefix: "" }, uuid, list, None, rename))}
        </div>
    }
}

/// A menu.
#[derive(Clone, Copy)]
struct Menu {
    id: &'static str,
    /// Prefix of the test IDs of its items.
    prefix: &'static str,
}

/// Renders the items. `open` has the actions for the open conversation: find, share, and usage.
fn items(
    menu: Menu,
    uuid: Uuid,
    list: ConversationList,
    open: Option<(Callback<()>, Callback<()>, Callback<()>)>,
    rename: Callback<()>,
) -> AnyView {
    let text = use_language();
    let flags = memo(move |_| list.find(uuid).map_or((false, false), |item| (item.pinned, item.archived)));
    // The button stays the same element: if it were replaced while it is pressed, it could not close the menu.
    let act = move |icon: Icon, name: &'static str, label: Signal<&'static str>, run: Callback<()>| {
        view! {
            <button
                type="button"
                role="menuitem"
                tabindex="-1"
                class="button quiet"
                class:danger=name == "delete"
                data-testid=format!("{}{name}", menu.prefix)
                popovertarget=menu.id
                popovertargetaction="hide"
                // Archived conversations cannot be pinned.
                hidden=move || name == "pin" && flags.get().1
                on:click=move |_| run.run(())
            >
                <Draw icon />
                {label}
            </button>
        }
        .into_any()
    };
    let file = |format: &'static str, label: &'static str| {
        let name = if menu.id == ROW_MENU { format!("row-{format}") } else { format.to_owned() };
        // The server names the file.
        view! {
            <a role="menuitem" tabindex="-1" class="button quiet" href=api::export_url(uuid, format) download="" data-testid=name>
                <Draw icon=Icon::Download />
                {label}
            </a>
        }
        .into_any()
    };
    let pin = Callback::new(move |()| list.pin(&[uuid], !flags.get_untracked().0));
    let archive = Callback::new(move |()| list.archive(&[uuid], !flags.get_untracked().1));
    let pin_label = Signal::derive(move || if flags.get().0 { text.unpin() } else { text.pin() });
    let archive_label = Signal::derive(move || if flags.get().1 { text.unarchive() } else { text.archive() });
    let select = Callback::new(move |()| {
        list.begin_selection(Some(uuid));
        in_next_frame(move || {
            browser::focus_if_free(&choice_id(uuid));
        });
    });
    let delete = Callback::new(move |()| list.delete(&[uuid]));
    view! {
        {open.map(|(find, ..)| act(Icon::Magnifier, "find", text.find_here().into(), find))}
        {act(Icon::Pencil, "rename", text.rename().into(), rename)}
        {act(Icon::Pin, "pin", pin_label, pin)}
        {act(Icon::Box, "archive", archive_label, archive)}
        {open.map(|(_, share, _)| act(Icon::Link, "share", text.share().into(), share))}
        {open.map(|(.., usage)| act(Icon::Tally, "usage", text.usage_title().into(), usage))}
        {file("markdown", text.export_markdown())}
        {file("json", text.export_json())}
        {file("zip", text.export_zip())}
        {(menu.id == ROW_MENU).then(|| act(Icon::Check, "select", text.select_multiple().into(), select))}
        <hr />
        {act(Icon::Bin, "delete", text.delete().into(), delete)}
    }
    .into_any()
}
