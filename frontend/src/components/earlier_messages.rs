//! What stands above the first message that is here, while there are others before it. They are loaded as the reader
//! comes near; the button is for whoever does not scroll, and for another attempt.

use leptos::prelude::*;

use crate::{components::load_button::LoadButton, language::use_language, session::Session};

/// The way to earlier messages.
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
            <noscript>
                <p class="note">{text.earlier_need_javascript()}</p>
            </noscript>
        </div>
    }
    .into_any()
}
