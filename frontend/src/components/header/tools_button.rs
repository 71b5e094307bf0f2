//! The button that opens the tools panel, and the modal `<dialog>` with the panel.

use leptos::{html, prelude::*};
use uuid::Uuid;

use crate::{
    components::{
        dialogs::sheet_top::sheet_top,
        header::tools_panel::Panel,
        lazy::{LazyPart, lazy},
        parts::{
            icon::{Draw, Icon},
            ids::TOOLS_BUTTON_ID,
        },
    },
    language::use_language,
    reactive::memo,
    tools::Tools,
};

/// The button, and the panel, which is hidden until the button is clicked.
#[component]
pub(crate) fn ToolsButton(tools: Tools, current: Signal<Option<Uuid>>) -> impl IntoView {
    let text = use_language();
    let dialog = NodeRef::<html::Dialog>::new();
    let is_open = RwSignal::new(false);
    let panel = Panel { tools, current, query: RwSignal::new(String::new()), text };
    let count = memo(move |_| tools.count(current.get()));
    let open = move |_| {
        let Some(dialog) = dialog.get_untracked().filter(|dialog| !dialog.open()) else { return };
        panel.query.set(String::new());
        tools.load(current.get_untracked());
        is_open.set(true);
        // Fails only if it is already open.
        let _ = dialog.show_modal();
    };
    let title = move || {
        let (on, all) = count.get();
        text.tools_on(on, all)
    };
    let shown = move || match count.get() {
        (on, all) if on == all => all.to_string(),
        (on, all) => format!("{on}/{all}"),
    };
    view! {
        <button
            type="button"
            class="button quiet tools-button"
            id=TOOLS_BUTTON_ID
            data-testid="open-tools"
            title=title
            aria-haspopup="dialog"
            on:click=open
        >
            <Draw icon=Icon::Sliders />
            <span class="tools-label">{text.tools()}</span>
            " "
            <span class="tools-count" data-testid="tools-count">{shown}</span>
        </button>
        <dialog
            class="sheet tools-panel"
            data-testid="tools-panel"
            aria-labelledby="tools-title"
            closedby="any"
            node_ref=dialog
            on:close=move |_| is_open.set(false)
        >
            {sheet_top("tools-title", text.tools_title().to_owned(), text.tools_close())}
            {lazy(move || is_open.get().then_some(LazyPart::Tools(panel)))}
        </dialog>
    }
    .into_any()
}
