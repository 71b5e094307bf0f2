//! Stopping: as soon as there is something to stop. The turn's last event ends the reading as always.

use super::super::{
    effect::Effect,
    reader::{Reader, Ticket},
    shown::Phase,
    state::State,
};
use super::waiting::LOUD;
use crate::api::ApiError;

impl State {
    pub(super) fn stop(&mut self, out: &mut Vec<Effect>) {
        if self.stopping || self.phase() == Phase::Idle {
            return;
        }
        if let Some(message) = self.held.take() {
            // Nothing was sent yet.
            self.take_back(message);
            return;
        }
        self.stopping = true;
        self.forget_failed_stop();
        self.is_stop_wanted = true;
        if !matches!(self.reader, Reader::Making(_) | Reader::Asking(_)) {
            self.stop_if_wanted(out);
        }
    }

    /// Has the turn stopped that runs by now.
    pub(super) fn stop_if_wanted(&mut self, out: &mut Vec<Effect>) {
        if let Some(uuid) = self.uuid().filter(|_| std::mem::take(&mut self.is_stop_wanted)) {
            self.stop_ticket = self.ticket();
            out.push(Effect::Stop(self.stop_ticket, uuid));
        }
    }

    pub(super) fn stopped(&mut self, ticket: Ticket, outcome: Result<(), ApiError>, out: &mut Vec<Effect>) {
        if ticket != self.stop_ticket || !self.stopping {
            return;
        }
        let was_paused = self.phase() == Phase::Awaiting;
        match outcome {
            // Nobody reads a turn that has paused.
            Ok(()) if was_paused => self.look(LOUD, out),
            // The end is told to whoever reads the turn.
            Ok(()) => {}
            // The turn has just ended by itself.
            Err(ApiError::Refused { status: 404 | 409, .. }) => {
                self.stopping = false;
                if was_paused {
                    self.look(LOUD, out);
                }
            }
            Err(error) => {
                self.stopping = false;
                self.notice = Some(match error {
                    ApiError::Unreachable => self.text.stop_failed().to_owned(),
                    error => error.message(self.text),
                });
            }
        }
    }
}
