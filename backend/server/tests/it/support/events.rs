//! Reads event streams: those of turns, and the user's feed.

use std::collections::VecDeque;

use reqwest::{Response, StatusCode, header::CONTENT_TYPE};
use tallybook_protocol::{ChatEvent, FeedEvent, MessageEnd, sse::Decoder};
use tokio::time::{Instant, timeout_at};

use super::{EVENT_TIMEOUT, TestApp};

/// An event, with the id under which it was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeenEvent {
    pub(crate) id: Option<String>,
    pub(crate) event: ChatEvent,
}

pub(crate) struct EventReader {
    response: Response,
    decoder: Decoder,
    ready: VecDeque<SeenEvent>,
    /// The answer's text as this reader has received it.
    text: String,
}

impl EventReader {
    pub(crate) fn new(response: Response) -> Self {
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(response.headers()[CONTENT_TYPE], "text/event-stream");
        Self { response, decoder: Decoder::new(), ready: VecDeque::new(), text: String::new() }
    }

    /// Returns the next stored event; `None` at the end of the stream.
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

    /// Returns the next event, even if it is of a kind that is not stored; `None` at the end of the stream.
    async fn next_of_any(&mut self) -> Option<SeenEvent> {
        let deadline = Instant::now() + EVENT_TIMEOUT;
        loop {
            if let Some(seen) = self.ready.pop_front() {
                self.take_down(&seen.event);
                return Some(seen);
            }
            let chunk = timeout_at(deadline, self.response.chunk()).await.expect("an event within a minute");
            let chunk = chunk.expect("the stream ends without an error")?;
            for frame in self.decoder.push(&chunk).expect("frames of bounded size") {
                let event = ChatEvent::parse(&frame.event, &frame.data).expect("an event of the protocol");
                // In an event stream, an `id:` applies until the next one. So a frame without an id has the previous id
                // here. Tests that need to detect the server's frames without an id do so themselves.
                self.ready.push_back(SeenEvent { id: frame.id, event });
            }
        }
    }

    /// Reads until an event with this name has arrived, and returns the event.
    pub(crate) async fn until(&mut self, name: &str) -> SeenEvent {
        loop {
            let seen = self.next_of_any().await.unwrap_or_else(|| panic!("the stream ended without {name}"));
            if seen.event.name() == name {
                return seen;
            }
        }
    }

    /// Reads until the answer's text is exactly this, and returns the last event of it. Models send text in pieces, so
    /// a test cannot know how much text one delta contains.
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
                // A reader that reconnected lacks the beginning of the text.
                self.text.truncate(usize::try_from(delta.offset).expect("a place in the text"));
                self.text.push_str(&delta.delta);
            }
            ChatEvent::Snapshot(snapshot) => self.text.clone_from(&snapshot.content),
            _ => {}
        }
    }

    /// Returns all events until the end of the stream. Checks that exactly one event is terminal, and that it is the
    /// last.
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

/// Reader of a user's feed.
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

    /// Returns the next event. The feed never ends by itself.
    pub(crate) async fn next(&mut self) -> FeedEvent {
        let deadline = Instant::now() + EVENT_TIMEOUT;
        loop {
            if let Some(event) = self.ready.pop_front() {
                return event;
            }
            let chunk = timeout_at(deadline, self.response.chunk()).await.expect("a feed event within a minute");
            let chunk = chunk.expect("the feed has no error").expect("the feed stays open");
            for frame in self.decoder.push(&chunk).expect("frames of bounded size") {
                let event: FeedEvent = serde_json::from_str(&frame.data).expect("an event of the protocol");
                assert_eq!(event.name(), frame.event);
                self.ready.push_back(event);
            }
        }
    }
}

/// Returns the `message_end` event with which a turn's events end.
pub(crate) fn end_of(events: &[ChatEvent]) -> &MessageEnd {
    let Some(ChatEvent::MessageEnd(end)) = events.last() else { panic!("{:?}", events.last()) };
    end
}

/// Returns the names of events. Adjacent text deltas count as one.
pub(crate) fn names(events: &[ChatEvent]) -> Vec<&'static str> {
    let mut names: Vec<&str> = events.iter().map(ChatEvent::name).collect();
    names.dedup_by(|a, b| a == b && *a == "content_delta");
    names
}
