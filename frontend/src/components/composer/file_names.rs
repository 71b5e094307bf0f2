//! The names of files, where they cannot be opened: of a message that is being sent, edited or queued.

use leptos::prelude::*;
use tallybook_protocol::MessageFile;

use crate::{
    components::parts::icon::{Draw, Icon},
    language::use_language,
};

/// Lists the files of a message.
pub(crate) fn file_names(files: &[MessageFile]) -> AnyView {
    let names: Vec<_> = files.iter().map(|file| item(file, ().into_any())).collect();
    view! { <ul class="file-list" aria-label=use_language().attached_files()>{names}</ul> }.into_any()
}

/// Lists the files of a message, with a button that removes each.
pub(crate) fn removable_files(files: &[MessageFile], remove: Callback<uuid::Uuid>) -> AnyView {
    let text = use_language();
    let row = |file: &MessageFile| {
        let id = file.id;
        let button = view! {
            <button
                type="button"
                class="button icon-only quiet small"
                data-testid="remove-file"
                aria-label=text.remove_file_named(&file.name)
                title=text.remove_file()
                on:click=move |_| remove.run(id)
            >
                <Draw icon=Icon::Cross />
            </button>
        };
        item(file, button.into_any())
    };
    let rows: Vec<_> = files.iter().map(row).collect();
    view! { <ul class="file-list" aria-label=text.attached_files()>{rows}</ul> }.into_any()
}

fn item(file: &MessageFile, button: AnyView) -> AnyView {
    view! {
        <li class="file-chip">
            <span class="file-icon"><Draw icon=Icon::Page /></span>
            <span class="file-name" dir="auto">{file.name.clone()}</span>
            {button}
        </li>
    }
    .into_any()
}
