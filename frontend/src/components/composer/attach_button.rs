//! The button that attaches files to a message.

use leptos::{html, prelude::*};
use web_sys::{File, FileList};

use crate::{
    browser,
    components::parts::icon::{Draw, Icon},
    language::Language,
    session::{FilesOf, Session},
};

/// Renders the button, and the browser's field for files that it opens.
pub(crate) fn attach_button(session: Session, of: FilesOf, text: Language) -> AnyView {
    let (button_name, input_name) = match of {
        FilesOf::Draft => ("attach", "file-input"),
        FilesOf::Edit => ("edit-attach", "edit-file-input"),
    };
    let file_input = NodeRef::<html::Input>::new();
    view! {
        <button
            type="button"
            class="button icon-only quiet"
            data-testid=button_name
            aria-label=text.attach()
            title=text.attach()
            disabled=!browser::IS_HERE
            on:click=move |_| if let Some(input) = file_input.get_untracked() { input.click() }
        >
            <Draw icon=Icon::Clip />
        </button>
        <input
            type="file"
            multiple
            hidden
            data-testid=input_name
            aria-label=text.attach()
            node_ref=file_input
            on:change:target=move |event| {
                let input = event.target();
                session.attach(of, listed(input.files()));
                // The same file can be chosen again after it was removed.
                input.set_value("");
            }
        />
    }
    .into_any()
}

/// Returns the files of a list.
pub(crate) fn listed(files: Option<FileList>) -> Vec<File> {
    let Some(files) = files else { return Vec::new() };
    (0..files.length()).filter_map(|at| files.get(at)).collect()
}
