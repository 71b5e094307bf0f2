//! Opening a conversation: its newest messages come first, and those before them follow (`earlier`).

use tallybook_protocol::Conversation;

use super::{
    super::{
        effect::Effect,
        queue::Queue,
        reader::Reader,
        shown::{Edited, Loading, Place},
        state::State,
        unsent::{KeptEdit, Sent},
    },
    earlier::{DRAWN_AT_ONCE, take_newest},
    waiting::FIRST,
};
use crate::{language::Language, transcript::Transcript};

impl State {
    /// What is known of a place before anything happens in it, on the server all of a conversation; `draft` is what was kept of
    /// what was being written.
    pub(crate) fn new(place: Place, conversation: Option<Conversation>, draft: String, text: Language) -> Self {
        let mut state = Self::blank(place, draft, text);
        if let Some(conversation) = conversation {
            state.transcript = Transcript::from(conversation);
        }
        state.reader = match state.place {
            // A server reads no turn along.
            Place::Open(_) if state.transcript.runs() => Reader::Hidden,
            Place::Loading(_) => FIRST,
            _ => Reader::Resting,
        };
        state
    }

    /// Takes what was kept when the page was last there, but for the draft.
    pub(crate) fn restore_kept(&mut self, queue: Queue, plans_first: bool, edit: Option<KeptEdit>, sent: Option<Sent>) {
        self.failed = sent;
        self.edited = edit.map(Edited::from);
        self.plans_first = plans_first;
        self.restore_queue(queue);
    }

    /// The newest messages of a conversation that is opened. Those before them are held back, to come into sight after them.
    pub(super) fn newest_of(&mut self, mut stored: Conversation) -> Conversation {
        let newest = take_newest(&mut stored, DRAWN_AT_ONCE);
        if let Some(first) = newest.messages.first().filter(|_| !stored.messages.is_empty()) {
            self.earlier = Loading::Running;
            self.earlier_ticket = self.ticket();
            self.coming = Some((first.id, stored));
        }
        newest
    }

    /// Has what was held back follow once what is here has been drawn.
    pub(super) fn draw_newest_first(&self, out: &mut Vec<Effect>) {
        if self.coming.is_some() {
            out.push(Effect::DrawEarlier(self.earlier_ticket));
        }
    }
}
