//! The top of a sheet: what it is, and the button that closes it.

use leptos::prelude::*;

use crate::components::parts::icon::{Draw, Icon};

/// The top of the dialog that the element `id` names.
pub(crate) fn sheet_top(id: &'static str, title: String, close: &'static str) -> AnyView {
    view! {
        <form method="dialog" class="sheet-top">
            <h2 id=id>{title}</h2>
            <button class="button icon-only quiet" aria-label=close title=close>
                <Draw icon=Icon::Cross />
            </button>
        </form>
    }
    .into_any()
}
