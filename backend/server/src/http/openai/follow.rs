//! Follows a turn for an API client: its text as it arrives, across the runs of a turn that waits for approval, up to its end.
//! If the client disconnects, the turn is stopped.

use std::{collections::HashMap, time::Duration};

use chrono::{DateTime, Utc};
use tallybook_accounts::UserId;
use tallybook_agent::CLIENT_CALLS;
use tallybook_conversations::{
    ClientCall, ConversationService, NextRun, ServiceError, StartedTurn,
    journal::{LogEntry, TurnSubscription},
};
use tallybook_protocol::{ChatEvent, MessageEnd, MessageId, MessageStatus, Reasoning, Usage};
use tokio::task::JoinError;
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use super::{
    refusal::Refusal,
    sink::{Progress, Sink, finish_of},
};

/// A turn that an API client follows.
pub(crate) struct Follower {
    turn: StoppedOnDrop,
    phase: Phase,
    /// Length of the answer's text that was sent to the client, in bytes.
    sent: usize,
    /// Length of the reasoning that was sent to the client, in bytes, by reasoning id.
    thoughts_sent: HashMap<i64, usize>,
    usage: Usage,
    /// URL at which the user decides on tool calls.
    link: String,
    /// `true` once the client has been notified that a tool call waits for approval.
    has_told_of_wait: bool,
    approval_timeout: Duration,
}

enum Phase {
    Reads(TurnSubscription),
    /// Waits for the user's approval.
    Waits(AbortOnDropHandle<Result<NextRun, ServiceError>>),
    /// Reads the calls that the client has to run. The turn has ended with these calls.
    HandsOver(AbortOnDropHandle<Result<Vec<ClientCall>, ServiceError>>),
    Over,
}

/// The next step after an event.
enum FollowStep {
    Taken,
    Waits,
    HandsOver,
    Over(Progress),
}

impl Follower {
    /// Follows a turn. The user decides on tool calls at `link`, and the decision has a timeout of `approval_timeout`.
    pub(crate) fn new(begun: BegunTurn, link: String, approval_timeout: Duration) -> Self {
        let BegunTurn { turn, events } = begun;
        let phase = Phase::Reads(events);
        Self {
            turn,
            phase,
            sent: 0,
            thoughts_sent: HashMap::new(),
            usage: Usage::default(),
            link,
            has_told_of_wait: false,
            approval_timeout,
        }
    }

    /// Returns the conversation and the message of the turn.
    pub(crate) fn place(&self) -> (Uuid, MessageId) {
        (self.turn.conversation, self.turn.message_id)
    }

    /// Returns the stored start time of the turn.
    pub(crate) fn created_at(&self) -> DateTime<Utc> {
        self.turn.created_at
    }

    /// Writes the next part of the answer. Nothing is lost if the future is dropped before it completes.
    pub(crate) async fn next(&mut self, sink: &mut impl Sink) -> Progress {
        loop {
            let told = match &mut self.phase {
                Phase::Over => FollowStep::Over(Progress::Failed(Refusal::broken_off())),
                Phase::Waits(run) => {
                    let run = run.await;
                    self.after_wait(run, sink)
                }
                Phase::HandsOver(calls) => {
                    let calls = calls.await;
                    self.hand_over(calls, sink)
                }
                Phase::Reads(events) => match events.next().await {
                    None => FollowStep::Over(Progress::Failed(Refusal::broken_off())),
                    Some(entries) => self.take_all(entries.iter().map(LogEntry::event), sink),
                },
            };
            match told {
                FollowStep::Taken => {}
                FollowStep::Waits => self.wait(sink),
                FollowStep::HandsOver => self.fetch_calls(),
                FollowStep::Over(progress) => {
                    self.phase = Phase::Over;
                    self.turn.is_over = true;
                    return progress;
                }
            }
            if sink.is_ready() {
                return Progress::More;
            }
        }
    }

    fn take_all<'a>(&mut self, events: impl Iterator<Item = &'a ChatEvent>, sink: &mut impl Sink) -> FollowStep {
        for event in events {
            let told = self.take(event, sink);
            if !matches!(told, FollowStep::Taken) {
                return told;
            }
        }
        FollowStep::Taken
    }

    fn take(&mut self, event: &ChatEvent, sink: &mut impl Sink) -> FollowStep {
        match event {
            ChatEvent::ContentDelta(delta) => {
                let offset = usize::try_from(delta.offset).unwrap_or(usize::MAX);
                let known = self.sent.saturating_sub(offset);
                if let Some(new) = delta.delta.get(known..) {
                    sink.text(new);
                    self.sent = self.sent.max(offset.saturating_add(delta.delta.len()));
                }
            }
            ChatEvent::ReasoningDelta(delta) => {
                let offset = usize::try_from(delta.reasoning_offset).unwrap_or(usize::MAX);
                let sent = self.thoughts_sent.entry(delta.reasoning_id).or_default();
                if let Some(new) = sent.checked_sub(offset).and_then(|known| delta.delta.get(known..))
                    && !new.is_empty()
                {
                    sink.reasoning(new);
                    *sent += new.len();
                }
            }
            ChatEvent::Snapshot(snapshot) => {
                self.take_back(snapshot.content.len(), sink);
                self.catch_up_thoughts(&snapshot.reasoning, sink);
                self.catch_up(&snapshot.content, sink);
            }
            ChatEvent::ToolCallStart(call) => sink.tool_started(call),
            ChatEvent::ToolCallEnd(call) => sink.tool_ended(call),
            ChatEvent::MessageEnd(end) => return self.take_end(end, sink),
            ChatEvent::Error(error) => return FollowStep::Over(Progress::Failed(Refusal::of_error(error))),
            _ => {}
        }
        FollowStep::Taken
    }

    /// Takes back text that turned out to be reasoning.
    fn take_back(&mut self, text_bytes: usize, sink: &mut impl Sink) {
        if text_bytes < self.sent {
            sink.text_taken_back(self.sent - text_bytes);
            self.sent = text_bytes;
        }
    }

    /// Writes the part of the answer's full text that has not been sent yet.
    fn catch_up(&mut self, content: &str, sink: &mut impl Sink) {
        if let Some(new) = content.get(self.sent..) {
            sink.text(new);
            self.sent = content.len();
        }
    }

    fn catch_up_thoughts(&mut self, reasoning: &[Reasoning], sink: &mut impl Sink) {
        for thought in reasoning {
            let sent = self.thoughts_sent.entry(thought.reasoning_id).or_default();
            if let Some(new) = thought.text.get(*sent..).filter(|new| !new.is_empty()) {
                sink.reasoning(new);
                *sent = thought.text.len();
            }
        }
    }

    fn take_end(&mut self, end: &MessageEnd, sink: &mut impl Sink) -> FollowStep {
        self.catch_up_thoughts(&end.reasoning, sink);
        self.catch_up(&end.content, sink);
        sink.run_ended(end);
        self.usage = end.usage;
        match end.status {
            MessageStatus::AwaitingApproval => FollowStep::Waits,
            MessageStatus::Complete if end.stop_reason.as_deref() == Some(CLIENT_CALLS) => FollowStep::HandsOver,
            MessageStatus::Complete | MessageStatus::Stopped => {
                let finish = finish_of(end.stop_reason.as_deref().unwrap_or_default());
                FollowStep::Over(Progress::Ended { finish, usage: end.usage })
            }
            _ => {
                let refusal = match (&end.error, &end.error_code) {
                    (Some(error), Some(code)) => Refusal::of_turn(error, code),
                    _ => Refusal::broken_off(),
                };
                FollowStep::Over(Progress::Failed(refusal))
            }
        }
    }

    /// Starts to wait for the user's decision. The first time, also notifies the client.
    fn wait(&mut self, sink: &mut impl Sink) {
        if !self.has_told_of_wait {
            self.has_told_of_wait = true;
            sink.text(&format!("{}A tool call waits for your approval: {}\n\n", self.separator(), self.link));
        }
        let StoppedOnDrop { service, user, conversation, message_id, .. } = &self.turn;
        let (service, user, conversation, message_id) = (service.clone(), *user, *conversation, *message_id);
        let approval_timeout = self.approval_timeout;
        let wait = async move { service.next_run(user, conversation, message_id, approval_timeout).await };
        self.phase = Phase::Waits(AbortOnDropHandle::new(tokio::spawn(wait)));
    }

    fn after_wait(
        &mut self,
        run: Result<Result<NextRun, ServiceError>, JoinError>,
        sink: &mut impl Sink,
    ) -> FollowStep {
        match run {
            Ok(Ok(NextRun::Resumed(events))) => {
                self.phase = Phase::Reads(events);
                FollowStep::Taken
            }
            Ok(Ok(NextRun::Pending)) => {
                sink.text("Nobody has decided yet. The answer goes on there once somebody has.");
                FollowStep::Over(Progress::Ended { finish: "stop", usage: self.usage })
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "a program's answer could not be waited for");
                FollowStep::Over(Progress::Failed(Refusal::broken_off()))
            }
            Err(_) => FollowStep::Over(Progress::Failed(Refusal::broken_off())),
        }
    }

    /// Starts to read the calls that the client has to run.
    fn fetch_calls(&mut self) {
        let StoppedOnDrop { service, user, conversation, message_id, .. } = &self.turn;
        let (service, user, conversation, message_id) = (service.clone(), *user, *conversation, *message_id);
        let fetch = async move { service.list_client_calls(user, conversation, message_id).await };
        self.phase = Phase::HandsOver(AbortOnDropHandle::new(tokio::spawn(fetch)));
    }

    fn hand_over(
        &mut self,
        calls: Result<Result<Vec<ClientCall>, ServiceError>, JoinError>,
        sink: &mut impl Sink,
    ) -> FollowStep {
        match calls {
            Ok(Ok(calls)) if !calls.is_empty() => {
                sink.client_calls(calls);
                FollowStep::Over(Progress::Ended { finish: finish_of(CLIENT_CALLS), usage: self.usage })
            }
            lost => {
                tracing::warn!(?lost, "the calls that a program is to run could not be read");
                FollowStep::Over(Progress::Failed(Refusal::broken_off()))
            }
        }
    }

    /// Returns the separator between the answer's text and a notice.
    fn separator(&self) -> &'static str {
        if self.sent == 0 { "" } else { "\n\n" }
    }
}

/// A turn that has started for an API client.
pub(crate) struct BegunTurn {
    turn: StoppedOnDrop,
    events: TurnSubscription,
}

impl BegunTurn {
    /// Wraps a turn. The turn is stopped if this value, or its follower, is dropped before the turn ends.
    pub(crate) fn new(service: ConversationService, user: UserId, turn: StartedTurn) -> Self {
        let StartedTurn { conversation, message_id, created_at, events } = turn;
        Self { turn: StoppedOnDrop { service, user, conversation, message_id, created_at, is_over: false }, events }
    }

    /// Returns the conversation and the message of the turn.
    pub(crate) fn place(&self) -> (Uuid, MessageId) {
        (self.turn.conversation, self.turn.message_id)
    }
}

/// A turn that is stopped on drop, because only its API client waits for it.
struct StoppedOnDrop {
    service: ConversationService,
    user: UserId,
    conversation: Uuid,
    message_id: MessageId,
    created_at: DateTime<Utc>,
    is_over: bool,
}

impl Drop for StoppedOnDrop {
    fn drop(&mut self) {
        if !self.is_over {
            self.service.spawn_stop(self.user, self.conversation, self.message_id);
        }
    }
}
