//! The messages before those that are here, as the reader asks for them, or as they came with a conversation that is opened.
//! They come into sight some in each frame, so that none takes long.

use tallybook_protocol::{Conversation, Earlier, MessageId};

use super::super::{
    effect::Effect,
    reader::Ticket,
    shown::{Loading, Place},
    state::State,
};
use crate::api::ApiError;

/// So many earlier messages are drawn in one frame, and so many of a conversation that is opened in its first: a question and
/// its answer.
pub(super) const DRAWN_AT_ONCE: usize = 2;
/// So many are while somebody wants to get past them.
const PASSED_AT_ONCE: usize = 20;

impl State {
    /// Loads messages that come before the first one here. Does nothing when there are none, or while some are on their
    /// way.
    pub(super) fn load_earlier(&mut self, out: &mut Vec<Effect>) {
        self.load_back_to(None, out);
    }

    /// Loads them back to this one, if it is among them.
    pub(super) fn load_back_to(&mut self, from: Option<MessageId>, out: &mut Vec<Effect>) {
        let first = self.transcript.first().filter(|_| self.transcript.has_earlier());
        let (Place::Open(uuid), Some(first)) = (&self.place, first) else { return };
        let uuid = *uuid;
        if self.earlier == Loading::Running {
            return;
        }
        self.earlier = Loading::Running;
        self.earlier_ticket = self.ticket();
        out.push(Effect::LoadEarlier(self.earlier_ticket, uuid, first, from));
    }

    pub(super) fn earlier_found(
        &mut self,
        ticket: Ticket,
        first: MessageId,
        page: Result<Option<Conversation>, ApiError>,
        out: &mut Vec<Effect>,
    ) {
        if ticket != self.earlier_ticket {
            return;
        }
        match page {
            Ok(Some(page)) => {
                self.coming = Some((first, page));
                self.show_earlier(out);
            }
            Ok(None) => self.earlier_failed(self.text.not_found_conversation().to_owned()),
            Err(error) => self.earlier_failed(error.message(self.text)),
        }
    }

    fn earlier_failed(&mut self, words: String) {
        if self.goal.take().is_some() {
            self.notice = Some(words.clone());
        }
        self.earlier = Loading::Failed(words);
    }

    /// Some are in their place, and the next may follow.
    pub(super) fn earlier_drawn(&mut self, ticket: Ticket, out: &mut Vec<Effect>) {
        if ticket == self.earlier_ticket {
            self.show_earlier(out);
        }
    }

    fn show_earlier(&mut self, out: &mut Vec<Effect>) {
        let Some((below, mut page)) = self.coming.take().filter(|(_, page)| !page.messages.is_empty()) else {
            // All of it is in its place, and only now there may be need of more.
            self.earlier = Loading::Idle;
            return;
        };
        let part = take_newest(&mut page, if self.goal.is_some() { PASSED_AT_ONCE } else { DRAWN_AT_ONCE });
        let first = part.messages.first().map_or(below, |message| message.id);
        if self.transcript.prepend(below, part) {
            self.coming = Some((first, page));
            out.push(Effect::DrawEarlier(self.earlier_ticket));
        } else {
            // Another branch is shown by now.
            self.earlier = Loading::Idle;
        }
    }
}

/// The newest messages of `page`, which keeps what comes before them.
pub(super) fn take_newest(page: &mut Conversation, count: usize) -> Conversation {
    let messages = page.messages.split_off(page.messages.len().saturating_sub(count));
    let left = page.messages.iter();
    let earlier = Earlier {
        count: page.earlier.map_or(0, |earlier| earlier.count) + i64::try_from(left.len()).unwrap_or(i64::MAX),
        usage: left.filter_map(|message| message.usage).chain(page.earlier.map(|earlier| earlier.usage)).sum(),
    };
    let earlier = Some(earlier).filter(|earlier| earlier.count > 0);
    Conversation { summary: page.summary.clone(), messages, earlier, active_message_id: page.active_message_id }
}
