//! Going to another version, or to a message, wherever it is: among the loaded messages, before them, or on another
//! branch.

use tallybook_protocol::{Conversation, MessageId, Window};

use super::{
    super::{
        connection::{Connection, Event, LinkStage},
        effect::{Effect, Request},
        shown::{Place, Step},
        state::{Link, State},
    },
    waiting::loaded_window,
};
use crate::{api::ApiError, data::MESSAGES_AT_ONCE, goal::Goal};

impl State {
    /// Selects the version before or after the message `id` among `siblings`.
    pub(super) fn step(&mut self, id: MessageId, siblings: &[MessageId], step: Step, out: &mut Vec<Effect>) {
        let Some(at) = siblings.iter().position(|sibling| *sibling == id) else { return };
        let (Some(wanted), Some(uuid)) = (step.from(at, siblings), self.at_rest()) else { return };
        self.notice = None;
        // The messages before the version stay. The version is loaded, however many messages come after it.
        let mut window = loaded_window(&self.transcript);
        window.from = window.from.filter(|first| *first != id).or(Some(wanted));
        let request = Request::Select(uuid, wanted, window);
        self.wait_for(Event::Select { wanted, step: Some(step) }, request, out);
    }

    pub(super) fn on_selected(
        &mut self,
        selected: Result<Conversation, ApiError>,
        wanted: MessageId,
        step: Option<Step>,
        out: &mut Vec<Effect>,
    ) {
        match selected {
            Ok(stored) => {
                self.refresh(stored, out);
                if self.send_pending(out) {
                    return;
                }
                self.follow_or_rest(out);
                // The pressed button is gone. The focus moves to the same button of the new version.
                out.extend(step.map(|step| Effect::FocusVersion(wanted, step)));
            }
            Err(error) => {
                self.take_back_pending();
                if step.is_none() {
                    self.rest(out);
                    self.link_failed(&error);
                } else {
                    // The server may have selected the version all the same, or another tab was faster.
                    self.restore(Vec::new(), &error, out);
                }
            }
        }
    }

    /// Starts to go to a message of this conversation, instead of to any other.
    pub(super) fn go_to(&mut self, goal: Goal) {
        if self.uuid() == Some(goal.conversation) {
            self.notice = None;
            self.link = Some(Link { goal, stage: LinkStage::Loaded });
        }
    }

    /// Takes the next step toward the message, unless a request for it is on its way.
    pub(super) fn advance_link(&mut self, out: &mut Vec<Effect>) {
        let (Place::Open(uuid), Some(link)) = (&self.place, &self.link) else { return };
        let (uuid, wanted, stage) = (*uuid, link.goal.message, link.stage);
        if self.transcript.find(wanted).is_some() {
            out.push(Effect::Draw);
            out.extend(self.link.take().map(|link| Effect::Reveal(link.goal)));
        } else if self.is_loading_earlier() || matches!(self.connection, Connection::Selecting { .. }) {
            // The next step follows when that has arrived.
        } else if stage == LinkStage::Loaded && self.transcript.has_earlier() {
            self.set_link_stage(LinkStage::Earlier);
            self.load_back_to(Some(wanted), out);
        } else if stage == LinkStage::Everywhere {
            self.give_up_link(self.text.message_not_found());
        } else if self.at_rest().is_some() {
            self.set_link_stage(LinkStage::Everywhere);
            let window = Window { limit: Some(MESSAGES_AT_ONCE), from: Some(wanted), before: None };
            let request = Request::Select(uuid, wanted, window);
            self.wait_for(Event::Select { wanted, step: None }, request, out);
        } else {
            self.give_up_link(self.text.message_in_other_version());
        }
    }

    /// Handles a failure to show the branch with the message.
    fn link_failed(&mut self, error: &ApiError) {
        match error {
            ApiError::Refused { status: 404, .. } => self.give_up_link(self.text.message_not_found()),
            ApiError::Refused { status: 409, .. } => self.give_up_link(self.text.message_in_other_version()),
            error => {
                self.link = None;
                self.notice = Some(error.message(self.text));
            }
        }
    }

    fn set_link_stage(&mut self, stage: LinkStage) {
        if let Some(link) = &mut self.link {
            link.stage = stage;
        }
    }

    fn give_up_link(&mut self, reason: &'static str) {
        self.link = None;
        self.notice = Some(reason.to_owned());
    }
}
