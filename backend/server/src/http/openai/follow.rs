//! Follows an answer for an API client: a turn or a direct model call. A turn that waits for approval is followed
//! across its runs, until it ends. If the client disconnects, the turn is stopped.
//!
//! A [`Sink`] receives the answer, and a [`Writer`] writes it as a stream. `chunk` implements them for chat
//! completions, `responses` and `thread` for the other APIs.

use std::{collections::HashMap, time::Duration};

use bytes::Bytes;
use chrono::{DateTime, Utc};
use serde::Serialize;
use tallybook_accounts::UserId;
use tallybook_agent::{CLIENT_CALLS, STEP_LIMIT};
use tallybook_conversations::{
    ClientCall, ConversationService, DirectCallEvent, NextRun, ServiceError, StartedTurn,
    journal::{LogEntry, TurnSubscription},
};
use tallybook_database::now;
use tallybook_protocol::{
    ChatEvent, MessageEnd, MessageId, MessageStatus, Reasoning, ToolCallEnd, ToolCallStart, Usage,
};
use tokio::{sync::mpsc, task::JoinError};
use tokio_util::task::AbortOnDropHandle;
use uuid::Uuid;

use crate::http::openai::error::Refusal;

/// A receiver of an answer as it arrives.
pub(crate) trait Sink {
    /// Receives text that continues the answer.
    fn text(&mut self, text: &str);

    /// Retracts the end of the text, of this length in bytes, because it was reasoning. A stream cannot retract text
    /// that it has sent, so an empty line separates that text from the answer.
    fn text_taken_back(&mut self, _: usize) {
        self.text("\n\n");
    }

    /// Receives reasoning of the model, which is not part of the answer.
    fn reasoning(&mut self, _: &str) {}

    /// Called when one of Tallybook's own tools starts.
    fn tool_started(&mut self, _: &ToolCallStart) {}

    /// Called when one of Tallybook's own tools has returned.
    fn tool_ended(&mut self, _: &ToolCallEnd) {}

    /// Receives the calls of client tools with which the answer ends.
    fn client_calls(&mut self, _: Vec<ClientCall>) {}

    /// Called at the end of a run of the turn: the last run, or a run after which calls wait for approval.
    fn run_ended(&mut self, _: &MessageEnd) {}

    /// Returns `true` if there is something to send.
    fn is_ready(&self) -> bool;
}

/// A receiver that writes an answer as a stream.
pub(crate) trait Writer: Sink {
    /// Starts the answer, unless it has started.
    fn begin(&mut self);

    /// Returns a keep-alive, which only shows that the answer is still in progress.
    fn keep_alive(&mut self) -> Bytes;

    /// Ends a complete answer.
    fn end(&mut self, finish: &str, usage: Usage);

    /// Ends an answer that failed.
    fn fail(&mut self, refusal: &Refusal);

    /// Takes the bytes to send.
    fn take(&mut self) -> Bytes;
}

/// Progress of an answer.
#[derive(Debug)]
pub(crate) enum Progress {
    /// There is something to send, and more may follow.
    More,
    /// The answer is complete.
    Ended {
        /// Finish reason in OpenAI's terms.
        finish: &'static str,
        usage: Usage,
    },
    /// The answer is not complete, and nothing more follows.
    Failed(Refusal),
}

/// Appends a `data:` line with this JSON to a stream. Serialization cannot fail, because answers consist of strings,
/// numbers and valid JSON.
pub(crate) fn append_data(out: &mut Vec<u8>, data: &impl Serialize) {
    out.extend_from_slice(b"data: ");
    let _ = serde_json::to_writer(&mut *out, data);
    out.extend_from_slice(b"\n\n");
}

/// Returns OpenAI's finish reason for a stop reason. An answer that used up its steps, and an answer with an unknown
/// stop reason, count as truncated.
pub(crate) fn finish_of(stop_reason: &str) -> &'static str {
    match stop_reason {
        "max_tokens" | STEP_LIMIT => "length",
        "refusal" => "content_filter",
        CLIENT_CALLS => "tool_calls",
        "" | "end_turn" | "tool_use" | "pause_turn" => "stop",
        // A stop reason that only the provider defines.
        _ => "length",
    }
}

/// A turn that an API client follows. If it is dropped before the turn ends, it stops the turn, because no other client
/// waits for it.
pub(crate) struct Follower {
    service: ConversationService,
    user: UserId,
    conversation: Uuid,
    message_id: MessageId,
    created_at: DateTime<Utc>,
    phase: Phase,
    /// Length of the answer's text that was sent to the client, in bytes.
    sent: usize,
    /// Length of the reasoning that was sent to the client, in bytes, by reasoning id.
    reasoning_sent: HashMap<i64, usize>,
    usage: Usage,
    /// URL at which the user decides on tool calls.
    link: String,
    /// `true` once the client has been notified that a tool call waits for approval.
    has_announced_wait: bool,
    approval_timeout: Duration,
}

enum Phase {
    Streaming(TurnSubscription),
    /// Waits for the user's approval.
    WaitsForApproval(AbortOnDropHandle<Result<NextRun, ServiceError>>),
    /// Reads the calls that the client has to run, with which the turn has ended.
    ReadsCalls(AbortOnDropHandle<Result<Vec<ClientCall>, ServiceError>>),
    Done,
}

/// The next step after an event.
enum FollowStep {
    Continue,
    WaitsForApproval,
    ReadsCalls,
    Done(Progress),
}

impl Follower {
    /// Follows a turn. `origin` is the address of the web UI, where the user decides on tool calls. The follower waits
    /// up to `approval_timeout` for a decision.
    pub(crate) fn new(
        service: ConversationService,
        user: UserId,
        turn: StartedTurn,
        origin: &str,
        approval_timeout: Duration,
    ) -> Self {
        let StartedTurn { conversation, message_id, created_at, events } = turn;
        Self {
            service,
            user,
            conversation,
            message_id,
            created_at,
            phase: Phase::Streaming(events),
            sent: 0,
            reasoning_sent: HashMap::new(),
            usage: Usage::default(),
            link: format!("{origin}/c/{conversation}"),
            has_announced_wait: false,
            approval_timeout,
        }
    }

    /// Returns the conversation of the turn.
    pub(crate) fn conversation(&self) -> Uuid {
        self.conversation
    }

    /// Returns the id of the answer.
    pub(crate) fn message_id(&self) -> MessageId {
        self.message_id
    }

    /// Returns the stored start time of the turn.
    pub(crate) fn created_at(&self) -> DateTime<Utc> {
        self.created_at
    }

    /// Writes the next part of the answer. Nothing is lost if the future is dropped before it completes.
    pub(crate) async fn next(&mut self, sink: &mut impl Sink) -> Progress {
        loop {
            let step = match &mut self.phase {
                Phase::Done => FollowStep::Done(Progress::Failed(Refusal::interrupted())),
                Phase::WaitsForApproval(run) => {
                    let run = run.await;
                    self.after_wait(run, sink)
                }
                Phase::ReadsCalls(calls) => {
                    let calls = calls.await;
                    self.send_calls(calls, sink)
                }
                Phase::Streaming(events) => match events.next().await {
                    None => FollowStep::Done(Progress::Failed(Refusal::interrupted())),
                    Some(entries) => self.apply_all(entries.iter().map(LogEntry::event), sink),
                },
            };
            match step {
                FollowStep::Continue => {}
                FollowStep::WaitsForApproval => self.wait(sink),
                FollowStep::ReadsCalls => self.fetch_calls(),
                FollowStep::Done(progress) => {
                    self.phase = Phase::Done;
                    return progress;
                }
            }
            if sink.is_ready() {
                return Progress::More;
            }
        }
    }

    fn apply_all<'a>(&mut self, events: impl Iterator<Item = &'a ChatEvent>, sink: &mut impl Sink) -> FollowStep {
        for event in events {
            let step = self.apply(event, sink);
            if !matches!(step, FollowStep::Continue) {
                return step;
            }
        }
        FollowStep::Continue
    }

    fn apply(&mut self, event: &ChatEvent, sink: &mut impl Sink) -> FollowStep {
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
                let sent = self.reasoning_sent.entry(delta.reasoning_id).or_default();
                if let Some(new) = sent.checked_sub(offset).and_then(|known| delta.delta.get(known..))
                    && !new.is_empty()
                {
                    sink.reasoning(new);
                    *sent += new.len();
                }
            }
            ChatEvent::Snapshot(snapshot) => {
                self.take_back(snapshot.content.len(), sink);
                self.catch_up_reasoning(&snapshot.reasoning, sink);
                self.catch_up(&snapshot.content, sink);
            }
            ChatEvent::ToolCallStart(call) => sink.tool_started(call),
            ChatEvent::ToolCallEnd(call) => sink.tool_ended(call),
            ChatEvent::MessageEnd(end) => return self.apply_end(end, sink),
            ChatEvent::Error(error) => return FollowStep::Done(Progress::Failed(Refusal::of_error(error))),
            _ => {}
        }
        FollowStep::Continue
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

    fn catch_up_reasoning(&mut self, reasoning: &[Reasoning], sink: &mut impl Sink) {
        for part in reasoning {
            let sent = self.reasoning_sent.entry(part.reasoning_id).or_default();
            if let Some(new) = part.text.get(*sent..).filter(|new| !new.is_empty()) {
                sink.reasoning(new);
                *sent = part.text.len();
            }
        }
    }

    fn apply_end(&mut self, end: &MessageEnd, sink: &mut impl Sink) -> FollowStep {
        self.catch_up_reasoning(&end.reasoning, sink);
        self.catch_up(&end.content, sink);
        sink.run_ended(end);
        self.usage = end.usage;
        match end.status {
            MessageStatus::AwaitingApproval => FollowStep::WaitsForApproval,
            MessageStatus::Complete if end.stop_reason.as_deref() == Some(CLIENT_CALLS) => FollowStep::ReadsCalls,
            MessageStatus::Complete | MessageStatus::Stopped => {
                let finish = finish_of(end.stop_reason.as_deref().unwrap_or_default());
                FollowStep::Done(Progress::Ended { finish, usage: end.usage })
            }
            _ => {
                let refusal = match (&end.error, &end.error_code) {
                    (Some(error), Some(code)) => Refusal::of_turn(error, code),
                    _ => Refusal::interrupted(),
                };
                FollowStep::Done(Progress::Failed(refusal))
            }
        }
    }

    /// Starts to wait for the user's decision. Notifies the client the first time.
    fn wait(&mut self, sink: &mut impl Sink) {
        if !self.has_announced_wait {
            self.has_announced_wait = true;
            sink.text(&format!("{}A tool call needs your approval: {}\n\n", self.separator(), self.link));
        }
        let Self { service, user, conversation, message_id, .. } = self;
        let (service, user, conversation, message_id) = (service.clone(), *user, *conversation, *message_id);
        let approval_timeout = self.approval_timeout;
        let wait = async move { service.next_run(user, conversation, message_id, approval_timeout).await };
        self.phase = Phase::WaitsForApproval(AbortOnDropHandle::new(tokio::spawn(wait)));
    }

    fn after_wait(
        &mut self,
        run: Result<Result<NextRun, ServiceError>, JoinError>,
        sink: &mut impl Sink,
    ) -> FollowStep {
        match run {
            Ok(Ok(NextRun::Resumed(events))) => {
                self.phase = Phase::Streaming(events);
                FollowStep::Continue
            }
            Ok(Ok(NextRun::Pending)) => {
                sink.text("The call still needs approval. Decide at the link above; then the answer continues there.");
                FollowStep::Done(Progress::Ended { finish: "stop", usage: self.usage })
            }
            Ok(Err(error)) => {
                tracing::warn!(%error, "waiting for an API client's turn failed");
                FollowStep::Done(Progress::Failed(Refusal::interrupted()))
            }
            Err(_) => FollowStep::Done(Progress::Failed(Refusal::interrupted())),
        }
    }

    /// Starts to read the calls that the client has to run.
    fn fetch_calls(&mut self) {
        let Self { service, user, conversation, message_id, .. } = self;
        let (service, user, conversation, message_id) = (service.clone(), *user, *conversation, *message_id);
        let fetch = async move { service.list_client_calls(user, conversation, message_id).await };
        self.phase = Phase::ReadsCalls(AbortOnDropHandle::new(tokio::spawn(fetch)));
    }

    fn send_calls(
        &mut self,
        calls: Result<Result<Vec<ClientCall>, ServiceError>, JoinError>,
        sink: &mut impl Sink,
    ) -> FollowStep {
        match calls {
            Ok(Ok(calls)) if !calls.is_empty() => {
                sink.client_calls(calls);
                FollowStep::Done(Progress::Ended { finish: finish_of(CLIENT_CALLS), usage: self.usage })
            }
            lost => {
                tracing::warn!(?lost, "the calls for an API client could not be read");
                FollowStep::Done(Progress::Failed(Refusal::interrupted()))
            }
        }
    }

    /// Returns the separator between the answer's text and a notice.
    fn separator(&self) -> &'static str {
        if self.sent == 0 { "" } else { "\n\n" }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        if !matches!(self.phase, Phase::Done) {
            self.service.spawn_stop(self.user, self.conversation, self.message_id);
        }
    }
}

/// A direct model call that an API client follows.
pub(crate) struct DirectCall {
    id: Uuid,
    created_at: DateTime<Utc>,
    events: mpsc::Receiver<DirectCallEvent>,
    /// Length of the text so far, in bytes.
    bytes: usize,
}

impl DirectCall {
    pub(crate) fn new(events: mpsc::Receiver<DirectCallEvent>) -> Self {
        Self { id: Uuid::new_v4(), created_at: now(), events, bytes: 0 }
    }

    /// Returns the id of the answer.
    pub(crate) fn id(&self) -> Uuid {
        self.id
    }

    /// Returns the start of the call.
    pub(crate) fn created_at(&self) -> DateTime<Utc> {
        self.created_at
    }

    /// Writes the next part of the answer. Nothing is lost if the future is dropped before it completes.
    pub(crate) async fn next(&mut self, sink: &mut impl Sink) -> Progress {
        loop {
            match self.events.recv().await {
                Some(DirectCallEvent::Text(text)) => {
                    self.bytes += text.len();
                    sink.text(&text);
                }
                Some(DirectCallEvent::TextWasReasoning) if self.bytes > 0 => {
                    sink.text_taken_back(std::mem::take(&mut self.bytes));
                }
                Some(DirectCallEvent::TextWasReasoning) => {}
                Some(DirectCallEvent::Ended { stop_reason, usage }) => {
                    return Progress::Ended { finish: finish_of(stop_reason.as_str()), usage };
                }
                Some(DirectCallEvent::Failed(error)) => return Progress::Failed(Refusal::of_model(&error)),
                Some(DirectCallEvent::ShutDown) => return Progress::Failed(shut_down()),
                // The task of the model call panicked or was aborted.
                None => return Progress::Failed(died()),
            }
            if sink.is_ready() {
                return Progress::More;
            }
        }
    }
}

fn died() -> Refusal {
    Refusal::of_turn("The server failed unexpectedly. Try again; its log says more.", "internal")
}

fn shut_down() -> Refusal {
    Refusal::of_turn("The server was restarted while it answered.", "shutdown")
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use crate::http::openai::follow::{DirectCall, DirectCallEvent, Progress, Sink};

    struct Text(String);

    impl Sink for Text {
        fn text(&mut self, text: &str) {
            self.0.push_str(text);
        }

        fn is_ready(&self) -> bool {
            false
        }
    }

    #[tokio::test]
    async fn an_answer_whose_task_dies_fails() {
        let (sender, events) = mpsc::channel(2);
        sender.send(DirectCallEvent::Text("Nearly ".to_owned())).await.unwrap();
        drop(sender);
        let mut text = Text(String::new());
        let end = DirectCall::new(events).next(&mut text).await;
        assert!(matches!(end, Progress::Failed(_)), "{end:?}");
        assert_eq!(text.0, "Nearly ");
    }
}
