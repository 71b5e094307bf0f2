//! Going to a message, wherever it is: among what is here, before that, or on another branch.

use tallybook_protocol::Window;

use super::super::{
    effect::{Effect, Request},
    reader::{Reader, Sought},
    shown::{Loading, Place},
    state::State,
};
use crate::{api::ApiError, data::MESSAGES_AT_ONCE, goal::Goal};

impl State {
    /// Goes to a message of this conversation, and no longer to another one.
    pub(super) fn go_to(&mut self, goal: Goal) {
        if self.uuid() == Some(goal.conversation) {
            self.notice = None;
            (self.goal, self.sought) = (Some(goal), Sought::Here);
        }
    }

    /// Takes the next step on the way to a message, if one goes to any and nothing on that way is waited for. To be called
    /// after whatever happened.
    pub(super) fn pursue(&mut self, out: &mut Vec<Effect>) {
        let (Place::Open(uuid), Some(goal)) = (&self.place, &self.goal) else { return };
        let (uuid, wanted) = (*uuid, goal.message);
        if self.transcript.find(wanted).is_some() {
            out.push(Effect::Draw);
            out.extend(self.goal.take().map(Effect::Reveal));
        } else if self.earlier == Loading::Running || matches!(self.reader, Reader::Selecting { .. }) {
            // It is gone on with when that is here.
        } else if self.sought == Sought::Here && self.transcript.has_earlier() {
            self.sought = Sought::Earlier;
            self.load_back_to(Some(wanted), out);
        } else if self.sought == Sought::Everywhere {
            self.give_up(self.text.message_not_found());
        } else if self.at_rest().is_some() {
            self.sought = Sought::Everywhere;
            let window = Window { limit: Some(MESSAGES_AT_ONCE), from: Some(wanted), before: None };
            self.read(Reader::Selecting { wanted, step: None }, Request::Select(uuid, wanted, window), out);
        } else {
            self.give_up(self.text.message_in_other_version());
        }
    }

    /// The branch with the message cannot be shown, for this reason.
    pub(super) fn gone_astray(&mut self, error: &ApiError) {
        match error {
            ApiError::Refused { status: 404, .. } => self.give_up(self.text.message_not_found()),
            ApiError::Refused { status: 409, .. } => self.give_up(self.text.message_in_other_version()),
            error => {
                self.goal = None;
                self.notice = Some(error.message(self.text));
            }
        }
    }

    fn give_up(&mut self, words: &'static str) {
        self.goal = None;
        self.notice = Some(words.to_owned());
    }
}
