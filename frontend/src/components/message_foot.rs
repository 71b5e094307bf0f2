//! The quiet line under an answer: what it cost. What can be done with a message has its place here too.

use leptos::prelude::*;

use crate::{
    components::message::{OptionalEntry, read},
    language::use_language,
};

/// The line under an answer; nothing while there is nothing to say.
#[component]
pub(crate) fn MessageFoot(entry: OptionalEntry) -> impl IntoView {
    let text = use_language();
    let usage = Memo::new(move |_| read(entry, |entry| entry.usage));
    move || {
        usage.get().map(|usage| {
            view! {
                <footer class="message-foot">
                    <span class="usage" data-testid="usage">{text.usage(usage)}</span>
                </footer>
            }
        })
    }
}
