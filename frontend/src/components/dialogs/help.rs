//! The sheet with the keyboard shortcuts and their settings. It is a modal `<dialog>`: the browser keeps the focus in
//! it, closes it with Escape, and returns the focus.

use leptos::{html, prelude::*};

use crate::{
    components::parts::{
        icon::{Draw, Icon},
        switches::{NotificationSwitch, SingleKeysSwitch},
    },
    language::use_language,
    reactive::effect,
};

/// `true` while the help sheet is open.
pub(crate) type HelpSheet = RwSignal<bool>;

/// Opens or closes the sheet.
pub(crate) fn toggle(sheet: HelpSheet) {
    sheet.update(|open| *open = !*open);
}

/// The list of shortcuts, hidden until the sheet is opened.
#[component]
pub(crate) fn Help(sheet: HelpSheet) -> impl IntoView {
    let text = use_language();
    let place = NodeRef::<html::Dialog>::new();
    effect(move || {
        if let Some(dialog) = place.get() {
            if sheet.get() {
                // Fails only if it is already open.
                let _ = dialog.show_modal();
            } else {
                dialog.close();
            }
        }
    });
    let everywhere = [
        (&["Ctrl", "K"][..], text.key_palette()),
        (&["Ctrl", "Shift", "F"], text.key_search_messages()),
        (&["Ctrl", "Shift", "O"], text.key_new_chat()),
        (&["Ctrl", "/"], text.key_help()),
        (&["Esc"], text.key_stop()),
    ];
    let reading = [
        (&["/"][..], text.key_find()),
        (&["["], text.key_previous_call()),
        (&["]"], text.key_next_call()),
        (&["E"], text.key_expand()),
        (&["1", "2", "3"], text.key_choose()),
    ];
    let writing =
        [(&["Enter"][..], text.key_send()), (&["Shift", "Enter"], text.key_new_line()), (&["↑"], text.key_edit_last())];
    view! {
        <dialog
            class="help"
            id="help"
            data-testid="help"
            aria-labelledby="help-title"
            closedby="any"
            node_ref=place
            on:close=move |_| sheet.set(false)
        >
            <form method="dialog" class="help-top">
                <h2 id="help-title">{text.help_title()}</h2>
                <button class="button icon-only quiet" aria-label=text.help_close() title=text.help_close()>
                    <Draw icon=Icon::Cross />
                </button>
            </form>
            {section(text.help_everywhere(), &everywhere)}
            {section(text.help_reading(), &reading)}
            {section(text.help_writing(), &writing)}
            <p class="help-note">{text.help_command_key()}</p>
            <h3>{text.settings()}</h3>
            <SingleKeysSwitch />
            <NotificationSwitch />
            <p class="help-note">
                <a href="/settings" on:click=move |_| sheet.set(false)>{text.all_settings()}</a>
            </p>
        </dialog>
    }
    .into_any()
}

fn section(title: &'static str, keys: &[(&'static [&'static str], &'static str)]) -> AnyView {
    let rows = keys.iter().map(|&(keys, does)| {
        let keys = keys.iter().map(|&key| view! { <kbd>{key}</kbd> });
        view! { <div class="help-row"><dt>{does}</dt><dd>{keys.collect_view()}</dd></div> }
    });
    view! {
        <h3>{title}</h3>
        <dl>{rows.collect_view()}</dl>
    }
    .into_any()
}
