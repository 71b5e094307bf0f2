//! Whose conversations this process changes, told to the feeds of those who watch.

use tokio::sync::broadcast;

use crate::accounts::UserId;

/// How many changes a watcher may miss; it looks anyway then.
const MAX_MISSED_CHANGES: usize = 16;

/// Tells watchers whose conversations have changed.
#[derive(Debug)]
pub(super) struct Changes(broadcast::Sender<UserId>);

impl Default for Changes {
    fn default() -> Self {
        Self(broadcast::Sender::new(MAX_MISSED_CHANGES))
    }
}

impl Changes {
    /// Something about a user's conversations is stored and different now. Without watchers it does nothing.
    pub(super) fn announce(&self, user: UserId) {
        let _ = self.0.send(user);
    }

    /// Hears of changes from now on.
    pub(super) fn subscribe(&self) -> broadcast::Receiver<UserId> {
        self.0.subscribe()
    }
}
