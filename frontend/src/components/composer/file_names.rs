//! The names of files, where they cannot be opened: of a message that is being sent or queued.

use leptos::prelude::*;
use tallybook_protocol::MessageFile;

use crate::{
    components::parts::icon::{Draw, Icon},
    language::use_language,
};

/// Lists the files of a message.
pub(crate) fn file_names(files: &[MessageFile]) -> AnyView {
    let names: Vec<_> = files.iter().map(item).collect();
    view! { <ul class="file-list" aria-label=use_language().attached_files()>{names}</ul> }.into_any()
}

fn item(file: &MessageFile) -> AnyView {
    view! {
        <li class="file-chip">
            <span class="file-icon"><Draw icon=Icon::Page /></span>
            <span class="file-name" dir="auto">{file.name.clone()}</span>
        </li>
    }
    .into_any()
}
