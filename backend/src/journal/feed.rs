//! The feed of each user: what happens to conversations, for sidebars and idle tabs.

use tallybook_protocol::FeedEvent;
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::accounts::UserId;

/// How many events a reader may fall behind before it is dropped; it then reads its list anew.
const BACKLOG: usize = 256;

/// Passes events on to the readers of this process.
#[derive(Debug)]
pub struct Feed {
    sender: broadcast::Sender<(UserId, FeedEvent)>,
    closed: CancellationToken,
}

impl Default for Feed {
    fn default() -> Self {
        Self { sender: broadcast::Sender::new(BACKLOG), closed: CancellationToken::new() }
    }
}

impl Feed {
    /// Tells all of a user's readers. Without readers it does nothing.
    pub fn send(&self, user: UserId, event: FeedEvent) {
        let _ = self.sender.send((user, event));
    }

    /// What happens from now on to one user's conversations.
    pub fn subscribe(&self, user: UserId) -> FeedSubscription {
        FeedSubscription { user, receiver: self.sender.subscribe(), closed: self.closed.clone() }
    }

    /// Ends all readers' streams: a server that stops must not wait for them.
    pub fn close(&self) {
        self.closed.cancel();
    }
}

/// One reader of a feed.
#[derive(Debug)]
pub struct FeedSubscription {
    user: UserId,
    receiver: broadcast::Receiver<(UserId, FeedEvent)>,
    closed: CancellationToken,
}

impl FeedSubscription {
    /// The next event; `None` when this reader fell too far behind or the server stops.
    pub async fn next(&mut self) -> Option<FeedEvent> {
        loop {
            let (user, event) = self.closed.run_until_cancelled(self.receiver.recv()).await?.ok()?;
            if user == self.user {
                return Some(event);
            }
        }
    }
}
