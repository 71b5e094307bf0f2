//! The explanation of an answer in a few lines, requested with a button below the answer.

use leptos::{prelude::*, task::spawn_local};
use tallybook_protocol::MessageId;

use crate::{
    api,
    language::{Language, use_language},
    session::{Place, Session},
};

/// The state of an explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Explanation {
    /// It is being requested.
    Asked,
    /// The lines.
    Lines(Vec<String>),
    /// The reason why there is none.
    Failed(String),
}

/// Requests the explanation of an answer.
pub(crate) fn ask(session: Session, id: MessageId, explanation: RwSignal<Option<Explanation>>, text: Language) {
    let Place::Open(uuid) = session.place.get_untracked() else { return };
    if explanation.with_untracked(|held| *held == Some(Explanation::Asked)) {
        return;
    }
    explanation.set(Some(Explanation::Asked));
    spawn_local(async move {
        let answered = match api::explain(uuid, id).await {
            Ok(lines) => Explanation::Lines(lines),
            Err(error) => Explanation::Failed(error.message(text)),
        };
        // The message may be unmounted by now.
        explanation.try_set(Some(answered));
    });
}

/// Renders an explanation.
#[component]
pub(crate) fn ExplanationNote(explanation: RwSignal<Option<Explanation>>) -> impl IntoView {
    let text = use_language();
    move || {
        let content = match explanation.get()? {
            Explanation::Asked => view! { <p>{text.explaining()}</p> }.into_any(),
            Explanation::Lines(lines) if lines.is_empty() => view! { <p>{text.nothing_to_explain()}</p> }.into_any(),
            Explanation::Lines(lines) => {
                let lines = lines.into_iter().map(|line| view! { <li dir="auto">{line}</li> }).collect_view();
                view! { <ul>{lines}</ul> }.into_any()
            }
            Explanation::Failed(why) => view! { <p>{why}</p> }.into_any(),
        };
        Some(view! {
            <div class="explanation" role="status" data-testid="explanation">
                <strong>{text.explain()}</strong>
                {content}
            </div>
        })
    }
}
