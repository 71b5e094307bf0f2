//! Following a turn to its end, over as many connections as that takes; stopping it, and deciding on its calls.

use tallybook_protocol::{CallDecision, ChatEvent, MessageEnd, MessageId};

use super::super::{
    connection::{Event, Starting, Stop, Ticket},
    effect::{Effect, Request},
    shown::Phase,
    state::State,
};
use crate::{api::ApiError, reading::Events, transcript::fold};

impl State {
    pub(super) fn on_joined(&mut self, joined: Result<bool, ApiError>, out: &mut Vec<Effect>) {
        match joined {
            Ok(true) => {
                self.change_connection(Event::Stream);
                self.stop_if_wanted(out);
            }
            // The turn has ended meanwhile.
            Ok(false) => self.follow(out),
            Err(error) if error.is_not_found() => self.on_deleted(out),
            Err(_) => self.back_off(out),
        }
    }

    pub(super) fn on_events(&mut self, events: Events, out: &mut Vec<Effect>) {
        let (mut started, mut ended) = (false, false);
        for (id, event) in events {
            if let ChatEvent::MessageEnd(MessageEnd { conversation_deleted: true, .. }) = &event {
                // The feed may report the deletion later. The end itself is not shown, and so not announced.
                if started {
                    self.on_turn_started();
                }
                return self.on_deleted(out);
            }
            let is_terminal = event.is_terminal();
            if let ChatEvent::Error(error) = &event
                && !is_terminal
            {
                // This subscriber cannot be served: the turn's end comes later, on this connection or the next one. It
                // counts as a failed attempt, so the next event removes the notice.
                let reason = self.text.turn_error(&error.code).map_or_else(|| error.error.clone(), str::to_owned);
                self.notice = Some(reason);
                self.stream.attempt = self.stream.attempt.max(1);
                continue;
            }
            if let Some(answer) = self.unknown_answer(&event).filter(|id| self.stream.refetched_for != Some(*id)) {
                // Events before it were missed, and perhaps the end of another turn.
                self.stream.refetched_for = Some(answer);
                out.push(Effect::Draw);
                return self.follow(out);
            }
            self.stream.refetched_for = None;
            if id.is_some() {
                self.stream.last_event = id;
            }
            if std::mem::take(&mut self.stream.attempt) > 0 {
                self.forget_connection_notice();
            }
            ended |= is_terminal;
            started |= matches!(event, ChatEvent::MessageStart(_));
            fold(&mut self.transcript, event);
        }
        if started {
            self.on_turn_started();
        }
        out.push(if started || ended { Effect::Draw } else { Effect::DrawSoon });
        if ended && self.awaiting_start {
            // The start was missed, and with it the stored form of the sent message.
            self.follow(out);
        } else if ended {
            self.rest(out);
        } else if self.transcript.has_gap() {
            // Only a snapshot closes the gap.
            self.stream.last_event = None;
            self.back_off(out);
        }
    }

    /// Returns the answer of an event that does not belong below the last message known here.
    fn unknown_answer(&self, event: &ChatEvent) -> Option<MessageId> {
        let is_unknown = |id: &MessageId| self.transcript.find(*id).is_none();
        match event {
            ChatEvent::Snapshot(snapshot) => Some(snapshot.assistant_message_id).filter(is_unknown),
            ChatEvent::MessageStart(start) => {
                let is_below_unknown = start.parent_id.as_ref().is_some_and(is_unknown);
                Some(start.assistant_message_id).filter(is_unknown).filter(|_| is_below_unknown)
            }
            _ => None,
        }
    }

    /// Continues the last answer, which ended early, with `model` or with the answer's own.
    pub(super) fn continue_turn(&mut self, model: Option<String>, out: &mut Vec<Effect>) {
        let Some(uuid) = self.at_rest() else { return };
        self.queue.hold_back();
        self.notice = None;
        self.feed_saw_end = false;
        self.wait_for(Event::Start(Starting::Continue), Request::Continue(uuid, model), out);
    }

    /// Sends decisions on calls that wait for approval. Does nothing while others are being sent, and leaves out calls
    /// that were already decided.
    pub(super) fn decide(&mut self, mut decisions: Vec<CallDecision>, out: &mut Vec<Effect>) {
        let waits = |decision: &CallDecision| {
            let call = self.transcript.awaiting().and_then(|entry| entry.call(decision.tool_call_id));
            call.is_some_and(|call| call.awaits_decision())
        };
        decisions.retain(waits);
        let Some(uuid) = self.open_and_free() else { return };
        if decisions.is_empty() || self.phase() != Phase::Awaiting || self.is_stopping() {
            return;
        }
        self.notice = None;
        self.feed_saw_end = false;
        self.wait_for(Event::Start(Starting::Decide), Request::Decide(uuid, decisions), out);
    }

    /// Stops the turn, as soon as there is one. The turn's last event ends the wait as usual.
    pub(super) fn stop(&mut self, out: &mut Vec<Effect>) {
        if self.is_stopping() || self.phase() == Phase::Idle {
            return;
        }
        if let Some(message) = self.pending_send.take() {
            // Nothing was sent yet.
            self.take_back(message);
            return;
        }
        self.forget_failed_stop();
        self.stop = Stop::Wanted;
        if !self.connection.is_starting() {
            self.stop_if_wanted(out);
        }
    }

    pub(super) fn on_stopped(&mut self, ticket: Ticket, outcome: Result<(), ApiError>, out: &mut Vec<Effect>) {
        if self.stop != Stop::Requested(ticket) {
            return;
        }
        let was_paused = self.phase() == Phase::Awaiting;
        match outcome {
            // A turn that waits for approval has no stream that would report its end.
            Ok(()) if was_paused => self.follow(out),
            Ok(()) => {}
            // The turn has just ended by itself.
            Err(ApiError::Refused { status: 404 | 409, .. }) => {
                self.stop = Stop::No;
                if was_paused {
                    self.follow(out);
                }
            }
            Err(error) => {
                self.stop = Stop::No;
                self.notice = Some(match error {
                    ApiError::Unreachable => self.text.stop_failed().to_owned(),
                    error => error.message(self.text),
                });
            }
        }
    }
}
