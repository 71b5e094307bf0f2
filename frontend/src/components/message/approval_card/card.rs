//! The state that the parts of a card share, and the effect of a choice.

use std::sync::Arc;

use leptos::prelude::*;
use tallybook_protocol::{ApprovalScope, CallDecision, Decision, RawJson, ToolCallId};

use crate::{
    approval::{Flaw, edited_input, plain_decision},
    browser,
    components::parts::ids::card_id,
    invisible::escaped_json,
    json,
    language::Language,
    mount_schedule::in_next_frame,
    scroll::THREAD_ID,
    session::Session,
    transcript::Call,
};

/// Time in which a card ignores keys after it became the one that they act on, because they were meant for the previous
/// one.
const KEYS_REST_MS: i64 = 500;

/// The state that the parts of a card share.
#[derive(Clone, Copy)]
pub(super) struct Card {
    pub(super) id: ToolCallId,
    pub(super) call: Memo<Option<Arc<Call>>>,
    pub(super) session: Session,
    /// `true` if a decision can be sent now.
    pub(super) is_ready: Memo<bool>,
    /// `true` while other calls of its step run.
    pub(super) is_early: Memo<bool>,
    /// `true` if keys act on this card, because its call is the first that waits.
    pub(super) is_first: Memo<bool>,
    /// When keys began to act on this card, in milliseconds since 1970.
    pub(super) has_keys_since: StoredValue<i64>,
    /// `true` once the user asked for the complete input.
    pub(super) is_unfolded: RwSignal<bool>,
    /// `true` once the beginning and the end of the input were visible.
    pub(super) saw_start: RwSignal<bool>,
    pub(super) saw_end: RwSignal<bool>,
    /// The arguments that the user wrote instead of the model's.
    pub(super) edited: RwSignal<Option<String>>,
    pub(super) scope: RwSignal<ApprovalScope>,
    /// `true` while the user is asked for a reason to deny.
    pub(super) is_denying: RwSignal<bool>,
    pub(super) text: Language,
}

impl Card {
    /// Makes a numbered choice, if keys act on this card.
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

    /// Returns `true` if the complete input was visible. Its end is visible only if no part is collapsed.
    pub(super) fn is_seen(self) -> bool {
        self.saw_start.get() && self.saw_end.get()
    }

    /// Approves the call, unless some of its input was not visible, or the edited arguments are invalid.
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

    /// Returns the arguments as text to edit.
    pub(super) fn proposed(self) -> String {
        let shown = |call: &Arc<Call>| escaped_json(&json::readable(&call.input.text));
        self.call.with_untracked(|call| call.as_ref().map(shown)).unwrap_or_default()
    }

    /// Returns the edited arguments; `None` if they are unchanged.
    pub(super) fn changed_input(self) -> Result<Option<RawJson>, Flaw> {
        match self.edited.get() {
            Some(edited) if edited != self.proposed() => edited_input(&edited).map(Some),
            _ => Ok(None),
        }
    }

    /// Moves the focus to the card, because the focused element is gone and the next key should still act on this card.
    pub(super) fn take_focus(self) {
        focus_soon(card_id(self.id));
    }
}

/// Moves the focus from a card that is removed to the messages, and from there to the next card. In a text field, a
/// repeated key press would become text.
pub(super) fn leave_focus(id: ToolCallId) {
    // Views are removed on the server, too.
    if !browser::IS_HERE {
        return;
    }
    if browser::has_focus_within(&format!("#{}", card_id(id))) || browser::is_focus_free() {
        browser::focus(THREAD_ID);
    }
    in_next_frame(|| {
        if browser::is_focus_free() || browser::has_focus_within(&format!("#{THREAD_ID}:focus")) {
            browser::focus(&format!("{THREAD_ID} .approval"));
        }
    });
}

/// Focuses an element that exists by the next frame.
pub(super) fn focus_soon(id: String) {
    in_next_frame(move || {
        browser::focus(&id);
    });
}
