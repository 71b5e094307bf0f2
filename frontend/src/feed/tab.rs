//! The part of one tab in the feed that the tabs of a browser share: the leader reads it and passes it on, all others listen.
//! No signals and no browser; `feed` carries out what is decided here.

use serde::{Deserialize, Serialize};
use tallybook_protocol::FeedEvent;

/// Ticks without a message after which the leader counts as frozen.
const MAX_SILENT_TICKS: u32 = 4;

/// A message between the tabs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Message {
    /// A tab with this id begins to listen.
    Hello(String),
    /// The leader reads the feed from now on, or tells one tab that it already does.
    Connected {
        /// The id of the tab that asked; `None` for all tabs.
        to: Option<String>,
        /// The folder of the server's page, which names its version.
        folder: Option<String>,
    },
    /// Events of the feed.
    Events(Vec<FeedEvent>),
    /// The leader is alive.
    Alive,
}

/// Consequence of a message.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Nothing,
    /// Send this message.
    Reply(Message),
    /// The feed is heard from now on. The server's page has this folder.
    Connected(Option<String>),
    /// Publish these events.
    Events(Vec<FeedEvent>),
}

/// A connection of the stream.
#[derive(Debug)]
pub(super) struct Connection {
    /// The folder of the server's page, if the server named it.
    pub(super) folder: Option<String>,
}

/// State of a tab in the shared feed.
#[derive(Debug)]
pub(super) struct Tab {
    id: String,
    leads: bool,
    /// The connection of the stream that this tab reads, while it has one.
    connected: Option<Connection>,
    silent_ticks: u32,
}

impl Tab {
    /// A tab that listens.
    pub(super) fn new(id: String) -> Self {
        Self { id, leads: false, connected: None, silent_ticks: 0 }
    }

    /// Begins to listen, and returns the message that says so.
    pub(super) fn listen(&mut self) -> Message {
        (self.leads, self.connected, self.silent_ticks) = (false, None, 0);
        Message::Hello(self.id.clone())
    }

    /// Begins to lead.
    pub(super) fn lead(&mut self) {
        self.leads = true;
    }

    /// Takes note of the connection of the stream that the leader reads; `None` while it has none.
    pub(super) fn set_connected(&mut self, connected: Option<Connection>) {
        self.connected = connected;
    }

    /// Takes a message from another tab.
    pub(super) fn hear(&mut self, message: Message) -> Outcome {
        match message {
            Message::Hello(id) => match &self.connected {
                Some(Connection { folder }) if self.leads => {
                    Outcome::Reply(Message::Connected { to: Some(id), folder: folder.clone() })
                }
                _ => Outcome::Nothing,
            },
            // A former leader that was frozen may send what it still has.
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

    /// Counts a tick, and returns `true` if the leader has been silent for too many.
    pub(super) fn tick(&mut self) -> bool {
        self.silent_ticks += 1;
        self.silent_ticks > MAX_SILENT_TICKS
    }
}

#[cfg(test)]
mod tests {
    use super::{Connection, Message, Outcome, Tab};

    fn connected(to: Option<&str>) -> Message {
        Message::Connected { to: to.map(str::to_owned), folder: Some("/pkg/1".to_owned()) }
    }

    #[test]
    fn a_leader_answers_a_new_tab_once_it_is_connected() {
        let (mut leader, mut other) = (Tab::new("a".to_owned()), Tab::new("b".to_owned()));
        leader.listen();
        leader.lead();
        let hello = other.listen();
        assert_eq!(leader.hear(hello.clone()), Outcome::Nothing, "it announces its connection to all tabs");
        leader.set_connected(Some(Connection { folder: Some("/pkg/1".to_owned()) }));
        let Outcome::Reply(reply) = leader.hear(hello) else { panic!("no reply") };
        assert_eq!(other.hear(reply.clone()), Outcome::Connected(Some("/pkg/1".to_owned())));
        assert_eq!(Tab::new("c".to_owned()).hear(reply), Outcome::Nothing, "a third tab missed nothing");
        assert_eq!(leader.listen(), Message::Hello("a".to_owned()));
        assert_eq!(leader.hear(Message::Hello("b".to_owned())), Outcome::Nothing, "it leads no more");
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
        assert_eq!(ticks(&mut tab), Some(5), "each message begins the count again");
        tab.listen();
        assert!(!tab.tick());
    }
}
