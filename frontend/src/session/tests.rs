//! Tests of the session without a browser. `steps`, `queueing` and others test single steps. `interleavings` generates
//! sequences of events for a `world`, which has a scripted `server` and a `screen`.

mod deciding;
mod drafts;
mod elsewhere;
mod files;
mod going;
mod interleavings;
mod queueing;
mod screen;
mod server;
mod steps;
mod transitions;
mod world;

use tallybook_protocol::{
    AnswerMode, ChatEvent, ContentDelta, Conversation, ConversationSummary, FeedEvent, FeedKind, Message, MessageEnd,
    MessageId, MessageStart, MessageStatus, RawJson, Role, ToolCall, ToolCallId, ToolCallStatus, Usage,
};
use uuid::Uuid;

use super::{
    connection::{Connection, Ticket},
    effect::{Effect, Request},
    input::{Action, Input, Response},
    queue::{Queue, Queued},
    reduce::reduce,
    shown::{Phase, Place},
    state::State,
    storage::Kept,
    unsent::UnsentMessage,
};
use crate::{api::ApiError, feed::News, language::Language};

const HERE: Uuid = Uuid::from_u128(7);

/// A session under test, and the effects that it requested.
struct TestPage {
    state: State,
    done: Vec<Effect>,
}

impl TestPage {
    fn new(place: Place, draft: &str) -> Self {
        let mut state = State::new(place, None, draft.to_owned(), Language::English);
        state.restore_kept(Vec::new(), Queue::default(), false, None, None);
        let mut page = Self { state, done: Vec::new() };
        page.feed(Input::Ready);
        page
    }

    /// Returns the session after a reload of the page.
    fn reloaded(&self) -> Self {
        let kept = Kept::now(&self.state);
        let queue = Queue::from_text(&kept.queue.to_text());
        let place = kept.conversation.map_or(Place::NewChat, Place::Loading);
        let mut state = State::new(place, None, kept.draft, Language::English);
        state.restore_kept(kept.files, queue, kept.plans_first, kept.edit, kept.sent);
        let mut page = Self { state, done: Vec::new() };
        page.feed(Input::Ready);
        page
    }

    /// Opens a conversation.
    fn opened(conversation: Conversation) -> Self {
        let mut page = Self::new(Place::Loading(HERE), "");
        page.answer(Response::Loaded(Ok(Some(conversation))));
        page
    }

    /// Opens a conversation with this question and its complete answer.
    fn open(question: &str) -> Self {
        Self::opened(conversation(&[(1, question, MessageStatus::Complete)]))
    }

    /// Feeds an input, and returns the effects.
    fn feed(&mut self, input: Input) -> &[Effect] {
        let begin = self.done.len();
        self.done.extend(reduce(&mut self.state, input));
        &self.done[begin..]
    }

    /// Draws frames until all loaded messages are shown.
    fn draw_all(&mut self) {
        let draws = |last: &mut Effect| matches!(last, Effect::DrawEarlier(_));
        while let Some(Effect::DrawEarlier(ticket)) = self.done.pop_if(draws) {
            self.feed(Input::Drawn(ticket));
        }
    }

    fn act(&mut self, action: Action) -> &[Effect] {
        self.feed(Input::User(action))
    }

    fn send(&mut self, text: &str) -> &[Effect] {
        self.act(Action::Write(text.to_owned()));
        self.act(Action::SendDraft(format!("id of {text}")))
    }

    /// Responds to the current request.
    fn answer(&mut self, response: Response) -> &[Effect] {
        self.feed(Input::Response(self.waits_for().0, response))
    }

    fn events(&mut self, events: Vec<ChatEvent>) -> &[Effect] {
        let events = events.into_iter().map(|event| (Some("1".to_owned()), event)).collect();
        self.feed(Input::Response(self.state.connection_ticket, Response::Events(events)))
    }

    /// Returns the current request.
    fn waits_for(&self) -> (Ticket, Request) {
        let last = self.done.iter().rev().find_map(|effect| match effect {
            Effect::Perform(ticket, request) => Some((*ticket, request.clone())),
            _ => None,
        });
        last.unwrap()
    }

    fn texts(&self) -> Vec<&str> {
        self.state.transcript.entries().iter().map(|entry| entry.text.as_str()).collect()
    }

    /// Returns the ticket of the last request to stop the turn.
    fn stop_ticket(&self) -> Ticket {
        let ticket = |effect: &Effect| match effect {
            Effect::Stop(ticket, _) => Some(*ticket),
            _ => None,
        };
        self.done.iter().rev().find_map(ticket).expect("the session has asked to stop the turn")
    }

    fn stops(&self) -> usize {
        self.done.iter().filter(|effect| matches!(effect, Effect::Stop(..))).count()
    }
}

/// A conversation of turns: by number, with the question; the answers are `A1`, `A2`, ….
fn conversation(turns: &[(i64, &str, MessageStatus)]) -> Conversation {
    let at = chrono::DateTime::UNIX_EPOCH;
    let message = |id: i64, role, content: String, status| Message {
        id: MessageId(id),
        role,
        epoch: i32::from(role == Role::Assistant),
        content,
        status,
        error: None,
        error_code: None,
        stop_reason: None,
        tool_calls: Vec::new(),
        reasoning: Vec::new(),
        plan: None,
        files: Vec::new(),
        siblings: Vec::new(),
        usage: None,
        created_at: at,
        completed_at: None,
        model: None,
        mode: tallybook_protocol::AnswerMode::React,
        context: None,
        feedback: None,
        provider: None,
    };
    let messages = turns.iter().flat_map(|&(turn, question, status)| {
        let question = message(turn * 10, Role::User, question.to_owned(), MessageStatus::Complete);
        [question, message(turn * 10 + 1, Role::Assistant, format!("A{turn}"), status)]
    });
    let running = turns.iter().find(|turn| turn.2 == MessageStatus::Streaming);
    Conversation {
        summary: ConversationSummary {
            uuid: HERE,
            title: "Sums".to_owned(),
            running: running.is_some(),
            awaiting_approval: false,
            created_at: at,
            updated_at: at,
            pinned: false,
            archived: false,
            model: None,
        },
        messages: messages.collect(),
        earlier: None,
        active_message_id: running.map(|turn| MessageId(turn.0 * 10 + 1)),
    }
}

/// A queue of these messages.
fn queue_of(texts: &[&str]) -> Queue {
    let queued = |text: &&str| Queued {
        id: format!("id of {text}"),
        text: (*text).to_owned(),
        files: Vec::new(),
        model: None,
        mode: AnswerMode::default(),
    };
    Queue { messages: texts.iter().map(queued).collect(), ..Queue::default() }
}

fn waiting_call(id: i64, status: ToolCallStatus) -> ToolCall {
    ToolCall {
        tool_call_id: ToolCallId(id),
        tool_name: "pay".to_owned(),
        input: RawJson::from_text("{}"),
        input_bytes: None,
        proposed_input: None,
        offset: 0,
        status,
        output: None,
        output_bytes: None,
        error: None,
        error_type: None,
        truncated: false,
        duration_ms: None,
        started_at: chrono::DateTime::UNIX_EPOCH,
        reviews: Vec::new(),
        decision: None,
        files: Vec::new(),
    }
}

fn start(turn: i64, question: &str) -> ChatEvent {
    ChatEvent::MessageStart(MessageStart {
        user_message_id: MessageId(turn * 10),
        assistant_message_id: MessageId(turn * 10 + 1),
        conversation_id: HERE,
        content: question.to_owned(),
        parent_id: (turn > 1).then(|| MessageId((turn - 1) * 10 + 1)),
        files: Vec::new(),
        user_siblings: Vec::new(),
        assistant_siblings: Vec::new(),
        provider: None,
        model: None,
    })
}

fn delta(text: &str) -> ChatEvent {
    ChatEvent::ContentDelta(ContentDelta { offset: 0, delta: text.to_owned() })
}

fn end(turn: i64, text: &str) -> ChatEvent {
    ChatEvent::MessageEnd(MessageEnd {
        assistant_message_id: MessageId(turn * 10 + 1),
        content: text.to_owned(),
        tool_calls: Vec::new(),
        reasoning: Vec::new(),
        plan: None,
        status: MessageStatus::Complete,
        error: None,
        error_code: None,
        stop_reason: Some("end_turn".to_owned()),
        usage: Usage::default(),
        provider: None,
        model: None,
        mode: tallybook_protocol::AnswerMode::React,
        context: None,
        files: Vec::new(),
        conversation_deleted: false,
    })
}

fn news(kind: FeedKind) -> Input {
    Input::News(News::Event(FeedEvent {
        conversation_id: HERE,
        kind,
        title: None,
        pinned: None,
        archived: None,
        model: None,
    }))
}

fn refused(status: u16) -> ApiError {
    ApiError::Refused { status, code: String::new(), detail: "No.".to_owned() }
}
