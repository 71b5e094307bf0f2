//! What the parts of one card share, and what becomes of a choice.

use std::sync::Arc;

use leptos::prelude::*;
use tallybook_protocol::{ApprovalScope, CallDecision, Decision, RawJson, ToolCallId};

use crate::{
    browser,
    components::{composer::go_on_writing, ids::card_id},
    consent::{Flaw, edited_input, plain_decision},
    in_turn::in_next_frame,
    json,
    language::Language,
    scroll::THREAD_ID,
    session::Session,
    transcript::Call,
};

/// What the parts of one card share.
#[derive(Clone, Copy)]
pub(super) struct Card {
    pub(super) id: ToolCallId,
    pub(super) call: Memo<Option<Arc<Call>>>,
    pub(super) session: Session,
    /// Whether a decision would be taken now.
    pub(super) is_ready: Memo<bool>,
    /// Whether other calls of its step still run.
    pub(super) is_early: Memo<bool>,
    /// Whether the keys are this card's: it is the first that waits.
    pub(super) is_first: Memo<bool>,
    /// What is written in place of the arguments.
    pub(super) edited: RwSignal<Option<String>>,
    pub(super) scope: RwSignal<ApprovalScope>,
    /// Whether it is asked why not.
    pub(super) is_denying: RwSignal<bool>,
    pub(super) text: Language,
}

impl Card {
    /// Takes one of the numbered choices, if the keys are this card's.
    pub(super) fn choose(self, number: u8) -> bool {
        if !self.is_first.get_untracked() || !self.is_ready.get_untracked() {
            return false;
        }
        match number {
            1 => self.allow(None),
            2 => self.allow(Some(self.scope.get_untracked())),
            _ => self.is_denying.set(true),
        }
        true
    }

    /// Lets it run, unless what was written in place of its arguments makes no sense.
    pub(super) fn allow(self, remember: Option<ApprovalScope>) {
        let Ok(input) = self.changed_input() else { return };
        let decision = plain_decision(self.id, Decision::Approve);
        self.session.decide(vec![CallDecision { input, remember, ..decision }]);
    }

    pub(super) fn deny(self, reason: &str) {
        let reason = Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty());
        self.session.decide(vec![CallDecision { reason, ..plain_decision(self.id, Decision::Deny) }]);
    }

    /// The arguments as they are shown to be edited.
    pub(super) fn proposed(self) -> String {
        self.call.with_untracked(|call| call.as_ref().map(|call| json::readable(&call.input.text))).unwrap_or_default()
    }

    /// What was written in place of the arguments; nothing where that is what was there.
    pub(super) fn changed_input(self) -> Result<Option<RawJson>, Flaw> {
        match self.edited.get() {
            Some(edited) if edited != self.proposed() => edited_input(&edited).map(Some),
            _ => Ok(None),
        }
    }

    /// What had the focus is gone; the next key should still mean this card.
    pub(super) fn take_focus(self) {
        focus_soon(card_id(self.id));
    }
}

/// Once a card is gone the next key means the next one, or where none waits, the message field.
pub(super) fn go_on_deciding() {
    in_next_frame(|| {
        if !browser::focus_if_free(&format!("{THREAD_ID} .consent")) {
            go_on_writing();
        }
    });
}

/// Gives the focus to an element that is there by the next frame.
pub(super) fn focus_soon(id: String) {
    in_next_frame(move || {
        browser::focus(&id);
    });
}
