//! The card of a call that waits for approval: the tool, its arguments, the risk, and the choices. It is below the
//! call's line and never collapsed. Keys make its numbered choices while the focus is in it.

mod card;
mod choices;
mod denial;
mod editor;
mod input;

use std::sync::Arc;

use card::Card;
use leptos::prelude::*;
use tallybook_protocol::{ApprovalScope, ToolCallId};

use crate::{
    browser,
    components::{
        message::{
            reviews::reviews_view,
            shown::{OptionalEntry, read},
        },
        parts::{commands::on_command, ids::card_id},
    },
    format,
    keys::Command,
    language::use_language,
    reactive::{effect, memo},
    session::{Phase, Place, Session, keep_input, keep_reason},
    transcript::{Call, Entry},
};

/// The card of a call, as long as the call waits.
#[component]
pub(crate) fn ApprovalCard(
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
                has_keys_since: StoredValue::new(0),
                is_unfolded: RwSignal::new(false),
                saw_start: RwSignal::new(false),
                saw_end: RwSignal::new(false),
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
        // Effects run only in a browser.
        effect(move || session.tools.load_once());
        effect(move || {
            if self.is_first.get() && self.is_ready.get() {
                self.has_keys_since.set_value(browser::now());
            }
        });
        effect(move || {
            let is_seen = self.is_seen() && self.edited.with(Option::is_none);
            session.seen_calls.update(|calls| {
                calls.retain(|call| *call != id);
                calls.extend(is_seen.then_some(id));
            });
        });
        effect(move || {
            // The reason that was typed for a call that can no longer run moves to the message field.
            if session.place.with(|place| *place == Place::Deleted)
                && let Some(written) = self.edited.get_untracked().filter(|written| *written != self.proposed())
            {
                self.edited.set(None);
                keep_input(id, "");
                session.add_to_draft(&written);
            }
        });
        on_cleanup(move || {
            session.seen_calls.try_update(|calls| calls.retain(|call| *call != id));
            // The call was decided, and the user did not just leave.
            if call.try_with_untracked(|call| call.as_ref().is_some_and(|call| !call.awaits_decision())) == Some(true) {
                keep_reason(id, "");
                keep_input(id, "");
            }
            card::leave_focus(id);
        });
        on_command(move |command| match command {
            Command::Choose(number) => self.choose(number),
            _ => false,
        });
        let name = call.with_untracked(|call| call.as_ref().map(|call| call.name.clone())).unwrap_or_default();
        let title = text.allow_to_run(&format::tool_name(&name));
        let risk = move || match session.tools.server_of(&name) {
            Some(server) => text.risk_of_server(&server),
            None => text.risk_of_tool().to_owned(),
        };
        let is_edited = memo(move |_| self.edited.with(Option::is_some));
        let title_id = format!("{}-title", card_id(id));
        let labelled_by = title_id.clone();
        view! {
            <div
                class="approval"
                role="group"
                id=card_id(id)
                data-testid="consent"
                // Takes the focus from the message field.
                tabindex="-1"
                aria-labelledby=labelled_by
            >
                <h3 id=title_id>{title}</h3>
                <p class="approval-risk">{risk}</p>
                {move || if is_edited.get() { self.editor() } else { self.input() }}
                {move || call.with(|call| call.as_ref().and_then(|call| reviews_view(&call.reviews, text)))}
                {move || if self.is_denying.get() { self.denial() } else { self.choices() }}
                {move || is_early.get().then(|| view! { <p class="tool-note">{text.decide_soon()}</p> })}
            </div>
        }
        .into_any()
    }
}
