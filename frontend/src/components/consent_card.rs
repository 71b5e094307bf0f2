//! A call that waits for a person's decision: who asks for what, why that is risky, what can be done about it. It stands
//! below the call's line and in no fold. Keys take its numbered choices while nobody writes.

mod card;
mod choices;
mod denial;
mod editor;

use std::sync::Arc;

use card::Card;
use leptos::prelude::*;
use tallybook_protocol::{ApprovalScope, ToolCallId};

use crate::{
    components::{
        call_text::{CallPart, Part},
        commands::on_command,
        ids::card_id,
        reviews::reviews_view,
        shown::{OptionalEntry, read},
    },
    keys::Command,
    language::use_language,
    reactive::{effect, memo},
    session::{Phase, Session},
    transcript::{Call, Entry},
};

/// The card of a call, as long as that waits.
#[component]
pub(crate) fn ConsentCard(
    id: ToolCallId,
    call: Memo<Option<Arc<Call>>>,
    entry: OptionalEntry,
    session: Session,
) -> impl IntoView {
    let waits = memo(move |_| {
        read(entry, Entry::asks_for_decisions)
            && call.with(|call| call.as_ref().is_some_and(|call| call.awaits_decision()))
    });
    move || {
        waits.get().then(|| {
            let card = Card {
                id,
                call,
                session,
                is_ready: memo(move |_| session.phase.get() == Phase::Awaiting && !session.stopping.get()),
                is_early: memo(move |_| read(entry, Entry::is_streaming)),
                is_first: memo(move |_| read(entry, |entry| entry.waiting_calls().first() == Some(&id))),
                edited: RwSignal::new(None),
                scope: RwSignal::new(ApprovalScope::Conversation),
                is_denying: RwSignal::new(false),
                text: use_language(),
            };
            card.view()
        })
    }
}

impl Card {
    fn view(self) -> AnyView {
        let Self { id, call, session, is_early, text, .. } = self;
        // Effects run in a browser alone.
        effect(move || session.tools.load_once());
        on_cleanup(card::go_on_deciding);
        on_command(move |command| match command {
            Command::Choose(number) => self.choose(number),
            _ => false,
        });
        let name = call.with_untracked(|call| call.as_ref().map(|call| call.name.clone())).unwrap_or_default();
        let title = text.may_it_run(&name);
        let risk = move || match session.tools.server_of(&name) {
            Some(server) => text.risk_of_server(&server),
            None => text.risk_of_tool().to_owned(),
        };
        let title_id = format!("{}-title", card_id(id));
        let labelled_by = title_id.clone();
        let input_id = format!("{}-input", card_id(id));
        view! {
            <div
                class="consent"
                role="group"
                id=card_id(id)
                data-testid="consent"
                // Takes the focus when one comes here from the message field.
                tabindex="-1"
                aria-labelledby=labelled_by
            >
                <h3 id=title_id>{title}</h3>
                <p class="consent-risk">{risk}</p>
                {move || if self.edited.with(Option::is_some) {
                    self.editor()
                } else {
                    let id = input_id.clone();
                    view! { <div class="consent-input"><CallPart part=Part::Input id call session=Some(session) /></div> }
                        .into_any()
                }}
                {move || call.with(|call| call.as_ref().and_then(|call| reviews_view(&call.reviews, text)))}
                {self.choices()}
                {move || self.is_denying.get().then(|| self.denial())}
                {move || is_early.get().then(|| view! { <p class="tool-note">{text.decide_soon()}</p> })}
            </div>
        }
        .into_any()
    }
}
