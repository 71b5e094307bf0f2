//! A turn's event stream as a test reads it.

use std::collections::VecDeque;

use reqwest::{Response, StatusCode, header::CONTENT_TYPE};
use tallybook_protocol::{ChatEvent, FeedEvent, MessageEnd, sse::Decoder};
use tokio::time::{Instant, timeout_at};

use super::{EVENT_PATIENCE, TestApp};

/// An event with the id it was sent under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeenEvent {
    pub(crate) id: Option<String>,
    pub(crate) event: ChatEvent,
}

pub(crate) struct EventReader {
    response: Response,
    decoder: Decoder,
    ready: VecDeque<SeenEvent>,
    /// The answer's text as far as this reader was told it.
    text: String,
}

impl EventReader {
    pub(crate) fn new(response: Response) -> Self {
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()[CONTENT_TYPE], "text/event-stream");
        Self { response, decoder: Decoder::new(), ready: VecDeque::new(), text: String::new() }
    }

    /// The next event of the record; `None` when the stream is over.
    pub(crate) async fn next(&mut self) -> Option<SeenEvent> {
        loop {
            let seen = self.next_of_any().await?;
            if !matches!(
                seen.event,
                ChatEvent::ToolCallPreparing(_) | ChatEvent::ToolCallProgress(_) | ChatEvent::ModelRetry(_)
            ) {
                return Some(seen);
            }
        }
    }

    /// The next event, were it one of those that are told and not kept.
    async fn next_of_any(&mut self) -> Option<SeenEvent> {
        let deadline = Instant::now() + EVENT_PATIENCE;
        loop {
            if let Some(seen) = self.ready.pop_front() {
                self.take_down(&seen.event);
                return Some(seen);
            }
            let chunk = timeout_at(deadline, self.response.chunk()).await.expect("an event within a minute");
            let chunk = chunk.expect("the stream ends well")?;
            for frame in self.decoder.push(&chunk).expect("frames of bounded size") {
                let event = ChatEvent::parse(&frame.event, &frame.data).expect("an event of the protocol");
                // An `id:` stays in force until the next one, so a frame without one repeats the last; the server's
                // frames without id are told apart by the tests that need it.
                self.ready.push_back(SeenEvent { id: frame.id, event });
            }
        }
    }

    /// Reads until an event of this name has come, and gives it.
    pub(crate) async fn until(&mut self, name: &str) -> SeenEvent {
        loop {
            let seen = self.next_of_any().await.unwrap_or_else(|| panic!("the stream ended without {name}"));
            if seen.event.name() == name {
                return seen;
            }
        }
    }

    /// Reads until the answer's text is this, and gives the last event of it. Models send text in pieces, so after one
    /// delta nobody can say how much of it there is.
    pub(crate) async fn until_text(&mut self, text: &str) -> SeenEvent {
        loop {
            let seen = self.next().await.unwrap_or_else(|| panic!("the stream ended at {:?}", self.text));
            if self.text == text {
                return seen;
            }
        }
    }

    fn take_down(&mut self, event: &ChatEvent) {
        match event {
            ChatEvent::ContentDelta(delta) => {
                // One that comes back does not have the beginning.
                self.text.truncate(usize::try_from(delta.offset).expect("a place in the text"));
                self.text.push_str(&delta.delta);
            }
            ChatEvent::Snapshot(snapshot) => self.text.clone_from(&snapshot.content),
            _ => {}
        }
    }

    /// Everything until the stream's end; checks that exactly the last event is terminal.
    pub(crate) async fn all(mut self) -> Vec<ChatEvent> {
        let mut events = Vec::new();
        while let Some(seen) = self.next().await {
            events.push(seen.event);
        }
        let terminal: Vec<bool> = events.iter().map(ChatEvent::is_terminal).collect();
        assert_eq!(terminal.iter().filter(|t| **t).count(), 1, "one terminal event: {:?}", names(&events));
        assert_eq!(terminal.last(), Some(&true), "the terminal event comes last: {:?}", names(&events));
        events
    }
}

/// A user's feed as a test reads it.
pub(crate) struct FeedReader {
    response: Response,
    decoder: Decoder,
    ready: VecDeque<FeedEvent>,
}

impl FeedReader {
    pub(crate) async fn open(app: &TestApp) -> Self {
        let response = app.get("/api/events").await;
        assert_eq!(response.status(), StatusCode::OK);
        Self { response, decoder: Decoder::new(), ready: VecDeque::new() }
    }

    /// The next event; the feed never ends by itself.
    pub(crate) async fn next(&mut self) -> FeedEvent {
        let deadline = Instant::now() + EVENT_PATIENCE;
        loop {
            if let Some(event) = self.ready.pop_front() {
                return event;
            }
            let chunk = timeout_at(deadline, self.response.chunk()).await.expect("a feed event within a minute");
            let chunk = chunk.expect("the feed goes well").expect("the feed stays open");
            for frame in self.decoder.push(&chunk).expect("frames of bounded size") {
                let event: FeedEvent = serde_json::from_str(&frame.data).expect("an event of the protocol");
                assert_eq!(event.name(), frame.event);
                self.ready.push_back(event);
            }
        }
    }
}

/// The `message_end` with which a turn's events end.
pub(crate) fn end_of(events: &[ChatEvent]) -> &MessageEnd {
    let Some(ChatEvent::MessageEnd(end)) = events.last() else { panic!("{:?}", events.last()) };
    end
}

/// The names of events, neighbouring text deltas counted as one.
pub(crate) fn names(events: &[ChatEvent]) -> Vec<&'static str> {
    let mut names: Vec<&str> = events.iter().map(ChatEvent::name).collect();
    names.dedup_by(|a, b| a == b && *a == "content_delta");
    names
}
