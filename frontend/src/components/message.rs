//! One message: what a person said, or an answer: Markdown with items between, and the plan that it is made by. Nothing in it
//! is ever read as HTML.

use leptos::prelude::*;
use tallybook_protocol::{MessageId, Role};

use crate::{
    components::{
        copy,
        each::Each,
        ending::Ending,
        items::Items,
        message_foot::AnswerFoot,
        pieces::{Key, piece_view},
        plan::Plan,
        question::Question,
        shown::{Shown, drawn_when_near, read, status},
        way_on::{WayOnButton, use_way_on},
    },
    goal::element_id,
    language::use_language,
    reactive::memo,
    session::Session,
    transcript::{Entry, Segment},
};

/// A message of the transcript, as it changes.
#[component]
pub(crate) fn Message(
    /// Its row id.
    id: MessageId,
    /// The conversation.
    session: Session,
) -> impl IntoView {
    let shown = Shown { entry: session.entry(id), expand_all: session.expand_all, session: Some(session) };
    view! { <ShownMessage id shown /> }
}

/// A message, with or without a session.
#[component]
pub(crate) fn ShownMessage(
    /// Its row id.
    id: MessageId,
    shown: Shown,
) -> impl IntoView {
    let role = shown.entry.with_untracked(|entry| entry.as_ref().map_or(Role::Assistant, |entry| entry.role));
    match role {
        Role::User => view! { <Question id shown /> }.into_any(),
        Role::Assistant => view! { <AssistantMessage id shown /> }.into_any(),
    }
}

#[component]
fn AssistantMessage(id: MessageId, shown: Shown) -> impl IntoView {
    let text = use_language();
    let Shown { entry, session, .. } = shown;
    let items = Items::new(shown);
    let pieces = move || read(entry, Entry::segments);
    let piece = move |piece| match piece {
        Segment::Plan => view! { <Plan items /> }.into_any(),
        piece => piece_view(items, &piece),
    };
    let lacks_plan = memo(move |_| read(entry, Entry::lacks_plan));
    let way_on = use_way_on(entry, session);
    view! {
        <article
            class="message"
            id=element_id(id)
            data-role="assistant"
            data-status=move || status(entry)
            data-measured=drawn_when_near(id, session)
            on:click=|event| copy::on_click(&event)
        >
            <h2 class="visually-hidden">{text.answer()}</h2>
            {move || lacks_plan.get().then(|| view! {
                <p class="note" data-testid="plan-lacking">{text.plan_unavailable()}</p>
            })}
            <Each each=pieces key=Key::of children=piece />
            <Ending entry />
            {session.map(|session| view! { <WayOnButton way_on session /> })}
            <AnswerFoot entry session way_on />
        </article>
    }
}

#[cfg(all(test, feature = "ssr"))]
mod tests {
    use std::sync::Arc;

    use leptos::{prelude::*, reactive::owner::Owner};
    use tallybook_protocol::{ChatEvent, MessageEnd, MessageId, MessageStart, MessageStatus, Usage};

    use super::{Shown, ShownMessage};
    use crate::{
        language::Language,
        transcript::{Entry, ExpandAll, Transcript, fold},
    };

    #[test]
    fn a_transcript_is_read_without_a_session() {
        let mut transcript = Transcript::default();
        fold(
            &mut transcript,
            ChatEvent::MessageStart(MessageStart {
                user_message_id: MessageId(1),
                assistant_message_id: MessageId(2),
                conversation_id: uuid::Uuid::nil(),
                content: "What is 1 + 2?".to_owned(),
                parent_id: None,
                user_siblings: vec![MessageId(1), MessageId(3)],
                assistant_siblings: Vec::new(),
                provider: None,
                model: None,
            }),
        );
        fold(
            &mut transcript,
            ChatEvent::MessageEnd(MessageEnd {
                assistant_message_id: MessageId(2),
                content: "It is 3.".to_owned(),
                tool_calls: Vec::new(),
                reasoning: Vec::new(),
                plan: None,
                status: MessageStatus::Stopped,
                error: None,
                error_code: None,
                stop_reason: None,
                usage: Usage::default(),
                provider: None,
                model: None,
                mode: tallybook_protocol::AnswerMode::React,
                told: None,
            }),
        );
        let owner = Owner::new();
        let html = owner.with(|| {
            provide_context(Language::English);
            let draw = |entry: &Arc<Entry>| {
                let (entry, id) = (RwSignal::new(Some(Arc::clone(entry))).read_only(), entry.id);
                let shown = Shown { entry, expand_all: RwSignal::new(ExpandAll::default()), session: None };
                view! { <ShownMessage id shown /> }.to_html()
            };
            transcript.entries().iter().map(draw).collect::<String>()
        });
        assert!(html.contains("What is 1 + 2?") && html.contains("It is 3."), "{html}");
        assert!(html.contains("copy-answer"), "{html}");
        for act in ["regenerate", "edit", "continue", "older-version"] {
            assert!(!html.contains(&format!("data-testid=\"{act}\"")), "{act} in {html}");
        }
    }
}
