//! Tells the feeds in this process whose conversations it has changed.

use tokio::sync::broadcast;

use crate::accounts::UserId;

/// How many changes may wait for a feed. One that missed some reads the list all the same, so it misses nothing by that.
const MAX_MISSED_CHANGES: usize = 16;

/// The channel on which changes are announced.
#[derive(Debug)]
pub(super) struct Changes(broadcast::Sender<UserId>);

impl Default for Changes {
    fn default() -> Self {
        Self(broadcast::Sender::new(MAX_MISSED_CHANGES))
    }
}

impl Changes {
    /// Says that something of a user's conversations has changed and is stored. Without subscribers it does nothing.
    pub(super) fn announce(&self, user: UserId) {
        let _ = self.0.send(user);
    }

    /// The users whose conversations change from now on.
    pub(super) fn subscribe(&self) -> broadcast::Receiver<UserId> {
        self.0.subscribe()
    }
}
