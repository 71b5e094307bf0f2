//! The line above the first loaded message while there are earlier ones. They load when the user scrolls near. The
//! button is for users who do not scroll, and retries.

use leptos::prelude::*;

use crate::{components::parts::load_button::LoadButton, language::use_language, session::Session};

/// The button that loads earlier messages.
#[component]
pub(crate) fn EarlierMessages(session: Session) -> impl IntoView {
    let text = use_language();
    view! {
        <div class="earlier">
            <LoadButton
                name="show-earlier"
                loading=session.earlier.into()
                label=text.show_earlier().to_owned()
                loading_label=text.loading_earlier()
                load=move || session.load_earlier()
            />
            <p class="print-note">{text.earlier_not_printed()}</p>
            <noscript>
                <p class="note">{text.earlier_need_javascript()}</p>
            </noscript>
        </div>
    }
    .into_any()
}
