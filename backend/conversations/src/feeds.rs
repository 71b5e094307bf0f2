//! The feeds that are open in this process: one per user, shared by the user's readers. `list::feed` produces the
//! events.

use std::{
    collections::HashMap,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use tallybook_accounts::UserId;
use tallybook_protocol::FeedEvent;
use tokio::sync::{Notify, OnceCell, broadcast};

/// Maximum number of event batches that can wait for a reader.
const MAX_WAITING: usize = 16;

/// Events between two states of the list; never empty.
type News = Arc<[FeedEvent]>;

/// A reader of a user's feed.
#[derive(Debug)]
pub struct FeedReader(broadcast::Receiver<News>);

impl FeedReader {
    /// Returns the next events. Returns `None` if the server drains, if the conversations cannot be read, or if this
    /// reader has fallen too far behind. The client then reconnects and reloads its list.
    pub async fn next(&mut self) -> Option<Arc<[FeedEvent]>> {
        self.0.recv().await.ok()
    }
}

/// The feeds that are open in this process.
#[derive(Debug, Default)]
pub(crate) struct Feeds(Mutex<HashMap<UserId, Weak<UserFeed>>>);

/// State that the readers of one user share. It lives as long as the task that reads the states of the list.
#[derive(Debug)]
pub(crate) struct UserFeed {
    /// Set once the first state has been read.
    pub(crate) began: OnceCell<()>,
    /// Holds a permit after a change that is newer than the last state.
    changed: Notify,
    news: broadcast::Sender<News>,
}

impl Feeds {
    /// Returns a user's feed with a new reader. Opens the feed if the user has none.
    pub(crate) fn join(&self, user: UserId) -> (Arc<UserFeed>, FeedReader) {
        let mut feeds = self.0.lock();
        if let Some(feed) = feeds.get(&user).and_then(Weak::upgrade) {
            let reader = feed.news.subscribe();
            return (feed, FeedReader(reader));
        }
        let (news, reader) = broadcast::channel(MAX_WAITING);
        let feed = Arc::new(UserFeed { began: OnceCell::new(), changed: Notify::new(), news });
        feeds.insert(user, Arc::downgrade(&feed));
        (feed, FeedReader(reader))
    }

    /// Announces a stored change to a user's conversations. Does nothing if the user's feed has no reader.
    pub(crate) fn announce(&self, user: UserId) {
        if let Some(feed) = self.0.lock().get(&user).and_then(Weak::upgrade) {
            feed.changed.notify_one();
        }
    }

    /// Removes a feed that has no readers. Returns `false` if it has a reader again.
    pub(crate) fn forget(&self, user: UserId, feed: &UserFeed) -> bool {
        let mut feeds = self.0.lock();
        let is_over = feed.news.receiver_count() == 0;
        if is_over {
            feeds.remove(&user);
        }
        is_over
    }
}

impl UserFeed {
    /// Waits for a change by this process since the last call, or since the feed was created.
    pub(crate) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Waits until the feed has no readers.
    pub(crate) async fn unread(&self) {
        self.news.closed().await;
    }

    /// Sends events to all readers.
    pub(crate) fn publish(&self, news: Vec<FeedEvent>) {
        // There may be no readers left.
        let _ = self.news.send(news.into());
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use tallybook_accounts::UserId;

    use crate::feeds::Feeds;

    #[test]
    fn a_feed_gets_only_its_own_users_changes() {
        let feeds = Feeds::default();
        let ((one, _reader), (other, _other_reader)) = (feeds.join(UserId(1)), feeds.join(UserId(2)));
        for _ in 0..1000 {
            feeds.announce(UserId(1));
        }
        feeds.announce(UserId(3));
        assert!(one.changed().now_or_never().is_some());
        assert!(one.changed().now_or_never().is_none(), "one state tells all of them");
        assert!(other.changed().now_or_never().is_none());
    }
}
