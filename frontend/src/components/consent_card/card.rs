//! What the parts of one card share, and what becomes of a choice.

use std::sync::Arc;

use leptos::prelude::*;
use tallybook_protocol::{ApprovalScope, CallDecision, Decision, RawJson, ToolCallId};

use crate::{
    browser,
    components::ids::card_id,
    consent::{Flaw, edited_input, plain_decision},
    in_turn::in_next_frame,
    invisible::escaped_json,
    json,
    language::Language,
    scroll::THREAD_ID,
    session::Session,
    transcript::Call,
};

/// Keys decide nothing so soon after a card became the one that they act on: they were meant for what was there before.
const KEYS_REST_MS: i64 = 500;

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
    /// When the keys became this card's, in milliseconds since 1970.
    pub(super) has_keys_since: StoredValue<i64>,
    /// Set when the reader asks for all of the input at once.
    pub(super) is_unfolded: RwSignal<bool>,
    /// Set once the beginning and the end of the input were in sight.
    pub(super) saw_start: RwSignal<bool>,
    pub(super) saw_end: RwSignal<bool>,
    /// What is written in place of the arguments.
    pub(super) edited: RwSignal<Option<String>>,
    pub(super) scope: RwSignal<ApprovalScope>,
    /// Whether it is asked why not.
    pub(super) is_denying: RwSignal<bool>,
    pub(super) text: Language,
}

impl Card {
    /// Takes one of the numbered choices, if the keys are this card's and were meant for it.
    pub(super) fn choose(self, number: u8) -> bool {
        let id = card_id(self.id);
        let is_meant = self.is_first.get_untracked()
            && browser::has_focus_within(&format!("#{id}"))
            && browser::is_in_sight(&id, THREAD_ID)
            && browser::now() - self.has_keys_since.get_value() >= KEYS_REST_MS;
        if !is_meant || !self.is_ready.get_untracked() {
            return false;
        }
        match number {
            _ if self.is_denying.get_untracked() => {}
            1 => self.allow(None),
            2 => self.allow(Some(self.scope.get_untracked())),
            _ => self.is_denying.set(true),
        }
        true
    }

    /// Returns `true` if all of the input was shown. Its end is shown only if nothing of it is folded.
    pub(super) fn is_seen(self) -> bool {
        self.saw_start.get() && self.saw_end.get()
    }

    /// Lets it run, unless some of its input was not seen, or what was written in place of it makes no sense.
    pub(super) fn allow(self, remember: Option<ApprovalScope>) {
        if !untrack(move || self.is_seen()) {
            return;
        }
        let Ok(input) = untrack(move || self.changed_input()) else { return };
        let decision = plain_decision(self.id, Decision::Approve);
        self.session.decide(vec![CallDecision { input, remember, ..decision }]);
    }

    pub(super) fn deny(self, reason: &str) {
        let reason = Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty());
        self.session.decide(vec![CallDecision { reason, ..plain_decision(self.id, Decision::Deny) }]);
    }

    /// The arguments as they are shown to be edited.
    pub(super) fn proposed(self) -> String {
        let shown = |call: &Arc<Call>| escaped_json(&json::readable(&call.input.text));
        self.call.with_untracked(|call| call.as_ref().map(shown)).unwrap_or_default()
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

/// Moves the focus from a card that goes away to the messages, and from there to the next card that waits. In a field, a key that is
/// pressed once too often would become text.
pub(super) fn leave_focus(id: ToolCallId) {
    // A server takes down what it has drawn, too.
    if !browser::IS_HERE {
        return;
    }
    if browser::has_focus_within(&format!("#{}", card_id(id))) || browser::is_focus_free() {
        browser::focus(THREAD_ID);
    }
    in_next_frame(|| {
        if browser::is_focus_free() || browser::has_focus_within(&format!("#{THREAD_ID}:focus")) {
            browser::focus(&format!("{THREAD_ID} .consent"));
        }
    });
}

/// Gives the focus to an element that is there by the next frame.
pub(super) fn focus_soon(id: String) {
    in_next_frame(move || {
        browser::focus(&id);
    });
}
