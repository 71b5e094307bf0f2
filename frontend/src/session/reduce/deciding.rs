//! Deciding on calls that wait. What comes of it is read as any other turn: it goes on in the same answer.

use tallybook_protocol::CallDecision;

use super::{
    super::{
        effect::{Effect, Request},
        reader::{Asked, Reader},
        shown::Phase,
        state::State,
    },
    waiting::LOUD,
};

impl State {
    /// Has decisions taken on calls that wait. Does nothing while one is on its way, and leaves out calls on which somebody
    /// else has decided.
    pub(super) fn decide(&mut self, mut decisions: Vec<CallDecision>, out: &mut Vec<Effect>) {
        let waits = |decision: &CallDecision| {
            let call = self.transcript.awaiting().and_then(|entry| entry.call(decision.tool_call_id));
            call.is_some_and(|call| call.awaits_decision())
        };
        decisions.retain(waits);
        let Some(uuid) = self.open_and_free() else { return };
        if decisions.is_empty() || self.phase() != Phase::Awaiting || self.stopping {
            return;
        }
        self.notice = None;
        self.feed_told_end = false;
        self.read(Reader::Asking(Asked::Decide), Request::Decide(uuid, decisions), out);
    }

    /// They are stored, and other calls of the answer still wait.
    pub(super) fn noted(&mut self, out: &mut Vec<Effect>) {
        self.look(LOUD, out);
    }
}
