//! A scripted server for the interleavings. It keeps a tree of messages and runs one turn at a time.
//! It responds as the real server does, but only when the world lets a request arrive.

use tallybook_protocol::{
    CallDecision, ChatEvent, ContentDelta, Conversation, Earlier, FeedEvent, FeedKind, MessageEnd, MessageFile,
    MessageId, MessageStart, MessageStatus, RawJson, Role, Snapshot, ToolCall, ToolCallId, ToolCallStatus, Usage,
    Window,
};

use super::{ApiError, HERE, UnsentMessage, conversation, refused, waiting_call};

/// Size of the input of a call, in bytes.
const LONG: i64 = 100_000;

#[derive(Clone, Debug)]
pub(super) struct Stored {
    pub(super) id: i64,
    parent: Option<i64>,
    role: Role,
    pub(super) text: String,
    pub(super) status: MessageStatus,
    epoch: i32,
    pub(super) client_id: Option<String>,
    /// IDs of its calls; `true` if a call waits for a decision.
    calls: Vec<(i64, bool)>,
    pub(super) files: Vec<MessageFile>,
}

impl Stored {
    fn tool_calls(&self) -> Vec<ToolCall> {
        let status = |waits| if waits { ToolCallStatus::AwaitingApproval } else { ToolCallStatus::Denied };
        // Events and conversations have only the beginning of a long input.
        let begun = |call: ToolCall| ToolCall { input: RawJson::from_text("\"{\""), input_bytes: Some(LONG), ..call };
        self.calls.iter().map(|&(id, waits)| begun(waiting_call(id, status(waits)))).collect()
    }
}

/// The server, with one conversation.
#[derive(Debug, Default)]
pub(super) struct Server {
    pub(super) exists: bool,
    pub(super) messages: Vec<Stored>,
    head: Option<i64>,
    active: Option<i64>,
    /// The events of the turn, in order. A new turn has a new list.
    log: Vec<ChatEvent>,
    /// Number of the turn that `log` belongs to.
    pub(super) turn: u32,
    /// Events that the feed has not delivered yet.
    pub(super) feed: Vec<FeedKind>,
}

impl Server {
    pub(super) fn make(&mut self) {
        self.exists = true;
        self.feed.push(FeedKind::ConversationCreated);
    }

    fn find(&self, id: i64) -> Option<&Stored> {
        self.messages.iter().find(|message| message.id == id)
    }

    fn add(&mut self, parent: Option<i64>, role: Role, text: &str, status: MessageStatus) -> i64 {
        let id = self.messages.last().map_or(1, |last| last.id + 1);
        let (text, epoch) = (text.to_owned(), i32::from(role == Role::Assistant));
        let (calls, files) = (Vec::new(), Vec::new());
        self.messages.push(Stored { id, parent, role, text, status, epoch, client_id: None, calls, files });
        id
    }

    /// Returns the shown branch, oldest message first.
    pub(super) fn branch(&self) -> Vec<&Stored> {
        let mut branch = Vec::new();
        let mut at = self.head;
        while let Some(message) = at.and_then(|id| self.find(id)) {
            branch.push(message);
            at = message.parent;
        }
        branch.reverse();
        branch
    }

    fn siblings(&self, message: &Stored) -> Vec<MessageId> {
        let same = |other: &&Stored| other.parent == message.parent && other.role == message.role;
        let all: Vec<_> = self.messages.iter().filter(same).map(|other| MessageId(other.id)).collect();
        if all.len() > 1 { all } else { Vec::new() }
    }

    fn check(&self) -> Result<(), ApiError> {
        match (self.exists, self.active) {
            (false, _) => Err(refused(404)),
            (true, Some(_)) => Err(refused(409)),
            (true, None) if self.awaiting().is_some() => Err(refused(409)),
            (true, None) => Ok(()),
        }
    }

    fn begin(&mut self, question: i64) {
        let answer = self.add(Some(question), Role::Assistant, "", MessageStatus::Streaming);
        self.run(answer);
        let (Some(asked), Some(new)) = (self.find(question), self.find(answer)) else { return };
        let start = ChatEvent::MessageStart(MessageStart {
            user_message_id: MessageId(question),
            assistant_message_id: MessageId(answer),
            conversation_id: HERE,
            content: asked.text.clone(),
            parent_id: asked.parent.map(MessageId),
            files: asked.files.clone(),
            user_siblings: self.siblings(asked),
            assistant_siblings: self.siblings(new),
            provider: None,
            model: None,
        });
        self.log.push(start);
    }

    fn run(&mut self, answer: i64) {
        (self.head, self.active) = (Some(answer), Some(answer));
        self.turn += 1;
        self.log.clear();
        self.feed.push(FeedKind::TurnStarted);
    }

    /// Stores a message and starts a turn. A message with a known client ID is not stored again.
    pub(super) fn send(&mut self, new: &UnsentMessage) -> Result<(), ApiError> {
        let is_same = |stored: &&Stored| stored.client_id.is_some() && stored.client_id == new.client_message_id;
        if let Some(known) = self.messages.iter().find(is_same).filter(|_| self.exists) {
            let runs = self.active.and_then(|id| self.find(id)).is_some_and(|answer| answer.parent == Some(known.id));
            // The real server reports the end of a turn that is over, too. A refetch shows it as well.
            return if runs { Ok(()) } else { Err(refused(409)) };
        }
        self.check()?;
        let parent = match new.edit_of {
            Some(MessageId(id)) => self.find(id).ok_or(refused(404))?.parent,
            None => self.head,
        };
        let question = self.add(parent, Role::User, &new.content, MessageStatus::Complete);
        if let Some(stored) = self.messages.last_mut() {
            stored.client_id.clone_from(&new.client_message_id);
            stored.files.clone_from(&new.files);
        }
        self.begin(question);
        Ok(())
    }

    pub(super) fn regenerate(&mut self, id: i64) -> Result<(), ApiError> {
        self.check()?;
        let question = self.find(id).and_then(|answer| answer.parent).ok_or(refused(404))?;
        self.begin(question);
        Ok(())
    }

    pub(super) fn continue_turn(&mut self) -> Result<(), ApiError> {
        self.check()?;
        let Some(id) = self.head.filter(|id| self.find(*id).is_some_and(|last| last.status.is_cut_off())) else {
            return Err(refused(409));
        };
        self.messages.iter_mut().filter(|message| message.id == id).for_each(|message| {
            message.epoch += 1;
            message.status = MessageStatus::Streaming;
        });
        self.run(id);
        let snapshot = self.snapshot(id);
        self.log.extend(snapshot);
        Ok(())
    }

    pub(super) fn select(&mut self, id: i64) -> Result<(), ApiError> {
        self.check()?;
        self.find(id).ok_or(refused(404))?;
        let mut end = id;
        while let Some(child) = self.messages.iter().rev().find(|message| message.parent == Some(end)) {
            end = child.id;
        }
        if self.head != Some(end) {
            self.head = Some(end);
            self.feed.push(FeedKind::BranchSelected);
        }
        Ok(())
    }

    /// Appends a word to the answer.
    pub(super) fn write(&mut self) {
        let Some(id) = self.active else { return };
        if let Some(answer) = self.messages.iter_mut().find(|message| message.id == id) {
            let offset = i64::try_from(answer.text.len()).unwrap();
            answer.text.push_str("word ");
            self.log.push(ChatEvent::ContentDelta(ContentDelta { offset, delta: "word ".to_owned() }));
        }
    }

    /// Returns the answer that waits for decisions.
    pub(super) fn awaiting(&self) -> Option<&Stored> {
        let last = self.head.and_then(|id| self.find(id)).filter(|_| self.exists);
        last.filter(|last| last.status == MessageStatus::AwaitingApproval)
    }

    /// Returns the calls that wait for a decision.
    pub(super) fn waiting(&self) -> Vec<ToolCallId> {
        let calls = self.awaiting().into_iter().flat_map(|last| &last.calls);
        calls.filter(|call| call.1).map(|call| ToolCallId(call.0)).collect()
    }

    /// Returns a call with its full input.
    pub(super) fn call(&self, id: ToolCallId) -> Result<ToolCall, ApiError> {
        let calls = self.messages.iter().filter(|_| self.exists).flat_map(Stored::tool_calls);
        let call = calls.into_iter().find(|call| call.tool_call_id == id).ok_or(refused(404))?;
        Ok(ToolCall { input: RawJson::from_text("{}"), input_bytes: None, ..call })
    }

    /// Pauses the turn for two calls that need approval.
    pub(super) fn pause(&mut self) {
        let Some(id) = self.active else { return };
        if let Some(answer) = self.messages.iter_mut().find(|message| message.id == id) {
            let first = id * 1000 + i64::from(answer.epoch) * 10;
            answer.calls.extend([(first, true), (first + 1, true)]);
        }
        let _ = self.end(MessageStatus::AwaitingApproval);
    }

    /// Stores all of the decisions or none. Returns `true` if the turn resumes.
    pub(super) fn decide(&mut self, decisions: &[CallDecision]) -> Result<bool, ApiError> {
        if !self.exists {
            return Err(refused(404));
        }
        let Some((id, calls)) = self.awaiting().map(|last| (last.id, last.calls.clone())) else {
            return Err(refused(409));
        };
        let is_new = |decision: &CallDecision| calls.contains(&(decision.tool_call_id.0, true));
        if !decisions.iter().all(is_new) {
            return Err(refused(409));
        }
        let Some(last) = self.messages.iter_mut().find(|message| message.id == id) else { return Err(refused(404)) };
        for call in &mut last.calls {
            call.1 &= decisions.iter().all(|decision| decision.tool_call_id.0 != call.0);
        }
        if last.calls.iter().any(|(_, waits)| *waits) {
            self.feed.push(FeedKind::ConversationUpdated);
            return Ok(false);
        }
        last.epoch += 1;
        last.status = MessageStatus::Streaming;
        self.run(id);
        let snapshot = self.snapshot(id);
        self.log.extend(snapshot);
        Ok(true)
    }

    pub(super) fn end(&mut self, status: MessageStatus) -> Result<(), ApiError> {
        // A stop denies the calls that wait.
        let paused = self.awaiting().map(|last| last.id).filter(|_| status == MessageStatus::Stopped);
        let Some(id) = self.active.take().or(paused).filter(|_| self.exists) else { return Err(refused(409)) };
        if let Some(answer) = self.messages.iter_mut().find(|message| message.id == id) {
            answer.status = status;
            if status != MessageStatus::AwaitingApproval {
                answer.calls.iter_mut().for_each(|call| call.1 = false);
            }
            self.log.push(ChatEvent::MessageEnd(MessageEnd {
                assistant_message_id: MessageId(id),
                content: answer.text.clone(),
                tool_calls: answer.tool_calls(),
                reasoning: Vec::new(),
                plan: None,
                status,
                error: None,
                error_code: None,
                stop_reason: None,
                usage: Usage::default(),
                provider: None,
                model: None,
                mode: tallybook_protocol::AnswerMode::React,
                context: None,
                files: Vec::new(),
                conversation_deleted: false,
            }));
            self.feed.push(FeedKind::TurnEnded);
        }
        Ok(())
    }

    pub(super) fn delete(&mut self) {
        if !self.exists {
            return;
        }
        if self.active.is_some() {
            let reported = self.feed.len();
            let _ = self.end(MessageStatus::Stopped);
            // The feed no longer lists the conversation, so it does not report the end of the turn.
            self.feed.truncate(reported);
            if let Some(ChatEvent::MessageEnd(end)) = self.log.last_mut() {
                end.conversation_deleted = true;
            }
        }
        self.exists = false;
        self.feed.push(FeedKind::ConversationDeleted);
    }

    fn snapshot(&self, id: i64) -> Option<ChatEvent> {
        let answer = self.find(id)?;
        Some(ChatEvent::Snapshot(Snapshot {
            assistant_message_id: MessageId(id),
            epoch: answer.epoch,
            content: answer.text.clone(),
            tool_calls: answer.tool_calls(),
            reasoning: Vec::new(),
            plan: None,
            status: answer.status,
            provider: None,
            model: None,
        }))
    }

    /// Joins the running turn. Returns the first event for a subscriber that knows nothing of the turn.
    pub(super) fn join(&self) -> Result<Option<ChatEvent>, ApiError> {
        if !self.exists {
            return Err(refused(404));
        }
        Ok(self.active.and_then(|id| self.snapshot(id)))
    }

    /// Returns the events of that turn after this many.
    pub(super) fn events_after(&self, turn: u32, after: usize) -> Option<&[ChatEvent]> {
        if turn == self.turn { self.log.get(after..) } else { None }
    }

    pub(super) fn event_count(&self) -> usize {
        self.log.len()
    }

    pub(super) fn conversation(&self, window: Window) -> Option<Conversation> {
        if !self.exists {
            return None;
        }
        let mut branch = self.branch();
        let place = |branch: &[&Stored], wanted: Option<MessageId>| {
            wanted.and_then(|MessageId(id)| branch.iter().position(|message| message.id == id))
        };
        if window.before.is_some() {
            branch.truncate(place(&branch, window.before).unwrap_or(0));
        }
        let limit = window.limit.map_or(usize::MAX, |limit| limit as usize);
        let newest = branch.len().saturating_sub(limit);
        let mut begin = place(&branch, window.from).unwrap_or(newest).min(newest);
        if branch.get(begin).is_some_and(|first| first.role == Role::Assistant) {
            begin -= 1;
        }
        let mut loaded = conversation(&[]);
        let count = i64::try_from(begin).unwrap();
        loaded.earlier = (count > 0).then(|| Earlier { count, usage: Usage::default() });
        loaded.active_message_id = self.active.map(MessageId);
        let template = conversation(&[(1, "", MessageStatus::Complete)]).messages.remove(0);
        loaded.messages = branch[begin..]
            .iter()
            .map(|stored| tallybook_protocol::Message {
                id: MessageId(stored.id),
                role: stored.role,
                epoch: stored.epoch,
                content: stored.text.clone(),
                status: stored.status,
                files: stored.files.clone(),
                siblings: self.siblings(stored),
                tool_calls: stored.tool_calls(),
                reasoning: Vec::new(),
                plan: None,
                ..template.clone()
            })
            .collect();
        Some(loaded)
    }

    pub(super) fn event(kind: FeedKind) -> FeedEvent {
        FeedEvent { conversation_id: HERE, kind, title: None, pinned: None, archived: None, model: None }
    }
}
