//! Writing an answer anew, having one go on, and going from one version to another.

use tallybook_protocol::{Conversation, MessageId};

use super::{
    super::{
        effect::{Effect, Request},
        reader::{Asked, Reader},
        shown::Step,
        state::State,
    },
    waiting::window_from,
};
use crate::api::ApiError;

impl State {
    /// Has an answer written anew, by `model` or by the conversation's.
    pub(super) fn regenerate(&mut self, id: MessageId, model: Option<String>, out: &mut Vec<Effect>) {
        let Some(uuid) = self.at_rest() else { return };
        self.queue.hold_back();
        let cut = self.transcript.split_off(id);
        self.begins = true;
        self.notice = None;
        self.feed_told_end = false;
        out.push(Effect::Draw);
        self.read(Reader::Asking(Asked::Regenerate { cut }), Request::Regenerate(uuid, id, model), out);
    }

    /// Has the last answer go on that was cut off.
    pub(super) fn continue_turn(&mut self, out: &mut Vec<Effect>) {
        let Some(uuid) = self.at_rest() else { return };
        self.queue.hold_back();
        self.notice = None;
        self.feed_told_end = false;
        self.read(Reader::Asking(Asked::Continue), Request::Continue(uuid), out);
    }

    /// Shows the version that comes before or after the message `id` among `siblings`.
    pub(super) fn step(&mut self, id: MessageId, siblings: &[MessageId], step: Step, out: &mut Vec<Effect>) {
        let Some(at) = siblings.iter().position(|sibling| *sibling == id) else { return };
        let (Some(wanted), Some(uuid)) = (step.from(at, siblings), self.at_rest()) else { return };
        self.notice = None;
        // What is above the version stays, and the version itself is to be seen, however much comes after it.
        let mut window = window_from(&self.transcript);
        window.from = window.from.filter(|first| *first != id).or(Some(wanted));
        self.read(Reader::Selecting { wanted, step: Some(step) }, Request::Select(uuid, wanted, window), out);
    }

    pub(super) fn selected(
        &mut self,
        selected: Result<Conversation, ApiError>,
        wanted: MessageId,
        step: Option<Step>,
        out: &mut Vec<Effect>,
    ) {
        match selected {
            Ok(stored) => {
                self.refresh(stored, out);
                if self.deliver_held(out) {
                    return;
                }
                self.go_on(out);
                // The button that was pressed is gone; the next key should find its like.
                out.extend(step.map(|step| Effect::FocusVersion(wanted, step)));
            }
            Err(error) if step.is_none() => {
                self.held.take().into_iter().for_each(|message| self.take_back(message));
                self.rest(out);
                self.gone_astray(&error);
            }
            Err(error) => {
                self.held.take().into_iter().for_each(|message| self.take_back(message));
                // It may have come through all the same, or another tab was quicker.
                self.restore(Vec::new(), &error, out);
            }
        }
    }
}
