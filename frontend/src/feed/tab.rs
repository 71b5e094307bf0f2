//! The role of one tab in the feed that the tabs of a browser share. The leader reads the feed and passes it on; all
//! other tabs listen. Pure: `feed` carries out what is decided here.

use serde::{Deserialize, Serialize};
use tallybook_protocol::FeedEvent;

/// Ticks without a message after which the leader counts as frozen.
const MAX_SILENT_TICKS: u32 = 4;

/// A message between the tabs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Message {
    /// A tab with this ID starts to listen.
    Hello(String),
    /// The leader reads the feed from now on, or tells a new tab that it already does.
    Connected {
        /// The ID of the new tab; `None` for all tabs.
        to: Option<String>,
        /// The folder of the server's page, which identifies its version.
        folder: Option<String>,
    },
    /// Events of the feed.
    Events(Vec<FeedEvent>),
    /// Keep-alive of the leader.
    Alive,
}

/// Consequence of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Nothing,
    /// Send this message.
    Reply(Message),
    /// Publish that the feed is connected. The server's page has this folder.
    Connected(Option<String>),
    /// Publish these events.
    Events(Vec<FeedEvent>),
}

/// An open connection to the feed.
#[derive(Debug)]
pub(super) struct TabConnection {
    /// The folder of the server's page, if the server sent it.
    pub(super) folder: Option<String>,
}

/// State of a tab in the shared feed.
#[derive(Debug)]
pub(super) struct Tab {
    id: String,
    leads: bool,
    /// The leader's connection to the feed; `None` while it has none, and in all other tabs.
    connected: Option<TabConnection>,
    silent_ticks: u32,
}

impl Tab {
    /// Creates the state of a tab that listens.
    pub(super) fn new(id: String) -> Self {
        Self { id, leads: false, connected: None, silent_ticks: 0 }
    }

    /// Starts to listen, and returns the message that announces it.
    pub(super) fn listen(&mut self) -> Message {
        (self.leads, self.connected, self.silent_ticks) = (false, None, 0);
        Message::Hello(self.id.clone())
    }

    /// Starts to lead.
    pub(super) fn lead(&mut self) {
        self.leads = true;
    }

    /// Stores the leader's connection to the feed; `None` if it has none.
    pub(super) fn set_connected(&mut self, connected: Option<TabConnection>) {
        self.connected = connected;
    }

    /// Handles a message from another tab.
    pub(super) fn hear(&mut self, message: Message) -> Outcome {
        match message {
            Message::Hello(id) => match &self.connected {
                Some(TabConnection { folder }) if self.leads => {
                    Outcome::Reply(Message::Connected { to: Some(id), folder: folder.clone() })
                }
                _ => Outcome::Nothing,
            },
            // A former leader that was frozen may still send messages.
            _ if self.leads => Outcome::Nothing,
            Message::Connected { to, folder } => {
                self.silent_ticks = 0;
                match to {
                    Some(to) if to != self.id => Outcome::Nothing,
                    _ => Outcome::Connected(folder),
                }
            }
            Message::Events(events) => {
                self.silent_ticks = 0;
                Outcome::Events(events)
            }
            Message::Alive => {
                self.silent_ticks = 0;
                Outcome::Nothing
            }
        }
    }

    /// Counts a tick. Returns `true` if the leader has been silent for too many ticks.
    pub(super) fn tick(&mut self) -> bool {
        self.silent_ticks += 1;
        self.silent_ticks > MAX_SILENT_TICKS
    }
}

#[cfg(test)]
mod tests {
    use super::{Message, Outcome, Tab, TabConnection};

    fn connected(to: Option<&str>) -> Message {
        Message::Connected { to: to.map(str::to_owned), folder: Some("/pkg/1".to_owned()) }
    }

    #[test]
    fn a_leader_answers_a_new_tab_once_it_is_connected() {
        let (mut leader, mut other) = (Tab::new("a".to_owned()), Tab::new("b".to_owned()));
        leader.listen();
        leader.lead();
        let hello = other.listen();
        assert_eq!(leader.hear(hello.clone()), Outcome::Nothing, "the leader is not connected yet");
        leader.set_connected(Some(TabConnection { folder: Some("/pkg/1".to_owned()) }));
        let Outcome::Reply(reply) = leader.hear(hello) else { panic!("no reply") };
        assert_eq!(other.hear(reply.clone()), Outcome::Connected(Some("/pkg/1".to_owned())));
        assert_eq!(Tab::new("c".to_owned()).hear(reply), Outcome::Nothing, "the reply is for one tab only");
        assert_eq!(leader.listen(), Message::Hello("a".to_owned()));
        assert_eq!(leader.hear(Message::Hello("b".to_owned())), Outcome::Nothing, "a tab that listens does not reply");
    }

    #[test]
    fn only_a_listening_tab_takes_events() {
        let mut tab = Tab::new("a".to_owned());
        assert_eq!(tab.hear(Message::Events(Vec::new())), Outcome::Events(Vec::new()));
        assert_eq!(tab.hear(connected(None)), Outcome::Connected(Some("/pkg/1".to_owned())));
        tab.lead();
        assert_eq!(tab.hear(Message::Events(Vec::new())), Outcome::Nothing);
        assert_eq!(tab.hear(connected(None)), Outcome::Nothing);
    }

    #[test]
    fn a_silent_leader_counts_as_frozen() {
        let mut tab = Tab::new("a".to_owned());
        let ticks = |tab: &mut Tab| (1..=9).find(|_| tab.tick());
        assert_eq!(ticks(&mut tab), Some(5));
        tab.hear(Message::Alive);
        assert_eq!(ticks(&mut tab), Some(5), "each message resets the count");
        tab.listen();
        assert!(!tab.tick());
    }
}
