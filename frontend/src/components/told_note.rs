//! What stands before the first message that the newest answer's model was told whole: that those above were summed up, and how. There
//! is one in a page.

use leptos::prelude::*;
use tallybook_protocol::{ContextTruncation, MessageId};

use crate::language::use_language;

/// The note before a message, if it belongs there.
#[component]
pub(crate) fn ToldNote(id: MessageId, told: Memo<Option<ContextTruncation>>) -> impl IntoView {
    let text = use_language();
    move || {
        let ContextTruncation { summary, .. } = told.get().filter(|told| told.from == id)?;
        let note = match summary {
            Some(summary) => view! {
                <details id="told" class="told" data-testid="told">
                    <summary>{text.earlier_summarized()}</summary>
                    <p>{text.earlier_summary_hint()}</p>
                    <blockquote dir="auto">{summary}</blockquote>
                </details>
            }
            .into_any(),
            None => view! { <p class="told" data-testid="told">{text.earlier_left_out()}</p> }.into_any(),
        };
        Some(note)
    }
}
