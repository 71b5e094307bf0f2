//! Stored messages: earlier ones, other versions, and the full texts of tool calls.

use tallybook_protocol::{Conversation, Earlier, MessageId, ToolCall, ToolCallId};

use super::super::{
    connection::{Event, Starting, Ticket},
    effect::{Effect, Request},
    shown::{Loading, Place},
    state::{EarlierMessages, State},
};
use crate::api::ApiError;

/// Number of earlier messages that are drawn in one frame, and of messages that an opened conversation draws first: a
/// question and its answer.
pub(super) const DRAWN_AT_ONCE: usize = 2;
/// Number of earlier messages that are drawn in one frame while the user goes to a message before them.
const PASSED_AT_ONCE: usize = 20;

/// Earlier messages. They are drawn a few in each frame, so that no frame takes long.
impl State {
    /// Loads messages before the first loaded one. Does nothing if there are none, or while some are being loaded.
    pub(super) fn load_earlier(&mut self, out: &mut Vec<Effect>) {
        self.load_back_to(None, out);
    }

    /// Loads earlier messages back to `from`, if it is among them.
    pub(super) fn load_back_to(&mut self, from: Option<MessageId>, out: &mut Vec<Effect>) {
        let first = self.transcript.first().filter(|_| self.transcript.has_earlier());
        let (Place::Open(uuid), Some(first)) = (&self.place, first) else { return };
        let uuid = *uuid;
        if self.is_loading_earlier() {
            return;
        }
        let ticket = self.next_ticket();
        self.earlier = EarlierMessages::Loading(ticket);
        out.push(Effect::LoadEarlier(ticket, uuid, first, from));
    }

    pub(super) fn is_loading_earlier(&self) -> bool {
        matches!(self.earlier, EarlierMessages::Loading(_) | EarlierMessages::Drawing { .. })
    }

    pub(super) fn on_earlier(
        &mut self,
        ticket: Ticket,
        first: MessageId,
        page: Result<Option<Conversation>, ApiError>,
        out: &mut Vec<Effect>,
    ) {
        if !matches!(self.earlier, EarlierMessages::Loading(loading) if loading == ticket) {
            return;
        }
        match page {
            Ok(Some(page)) => {
                self.earlier = EarlierMessages::Drawing { ticket, below: first, page };
                self.draw_next_earlier(out);
            }
            Ok(None) => self.earlier_failed(self.text.not_found_conversation().to_owned()),
            Err(error) => self.earlier_failed(error.message(self.text)),
        }
    }

    fn earlier_failed(&mut self, reason: String) {
        if self.link.take().is_some() {
            self.notice = Some(reason.clone());
        }
        self.earlier = EarlierMessages::Failed(reason);
    }

    /// Draws the next earlier messages once some have been drawn.
    pub(super) fn on_drawn(&mut self, drawn: Ticket, out: &mut Vec<Effect>) {
        if matches!(self.earlier, EarlierMessages::Drawing { ticket, .. } if ticket == drawn) {
            self.draw_next_earlier(out);
        }
    }

    fn draw_next_earlier(&mut self, out: &mut Vec<Effect>) {
        let earlier = std::mem::replace(&mut self.earlier, EarlierMessages::Idle);
        let EarlierMessages::Drawing { ticket, below, mut page } = earlier else { return };
        if page.messages.is_empty() {
            return;
        }
        let count = if self.link.is_some() { PASSED_AT_ONCE } else { DRAWN_AT_ONCE };
        let part = take_newest(&mut page, count);
        let first = part.messages.first().map_or(below, |message| message.id);
        // If another branch is shown by now, the messages do not belong to it.
        if self.transcript.prepend(below, part) {
            self.earlier = EarlierMessages::Drawing { ticket, below: first, page };
            out.push(Effect::DrawEarlier(ticket));
        }
    }
}

/// Other versions.
impl State {
    /// Regenerates an answer with `model`, or with the conversation's model.
    pub(super) fn regenerate(&mut self, id: MessageId, model: Option<String>, out: &mut Vec<Effect>) {
        let Some(uuid) = self.at_rest() else { return };
        self.queue.hold_back();
        let cut = self.transcript.split_off(id);
        self.awaiting_start = true;
        self.notice = None;
        self.feed_saw_end = false;
        out.push(Effect::Draw);
        let request = Request::Regenerate(uuid, id, model);
        self.wait_for(Event::Start(Starting::Regenerate { cut }), request, out);
    }
}

/// Full texts of tool calls. A call never changes, so each is loaded once and kept in the transcript.
impl State {
    /// Loads the full texts of a call. Does nothing if they are here, or being loaded.
    pub(super) fn load_call(&mut self, id: ToolCallId, out: &mut Vec<Effect>) {
        let is_cut = self.transcript.find_call(id).is_some_and(|call| !call.is_whole());
        if is_cut && self.calls.get(&id) != Some(&Loading::Running) {
            self.calls.insert(id, Loading::Running);
            out.push(Effect::LoadCall(id));
        }
    }

    pub(super) fn on_call(&mut self, id: ToolCallId, call: Result<ToolCall, ApiError>, out: &mut Vec<Effect>) {
        let loading = match call {
            Ok(call) => {
                self.transcript.put_call(call);
                out.push(Effect::Draw);
                let is_cut = self.transcript.find_call(id).is_some_and(|call| !call.is_whole());
                if is_cut { Loading::Failed(self.text.rest_not_shared().to_owned()) } else { Loading::Idle }
            }
            Err(error) if error.is_not_found() => Loading::Failed(self.text.not_found_call().to_owned()),
            Err(error) => Loading::Failed(error.message(self.text)),
        };
        self.calls.insert(id, loading);
    }
}

/// Splits off the newest `count` messages of `page`, which keeps the messages before them.
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
