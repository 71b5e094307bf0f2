//! The feeds that are read in this process: which users have one, and who reads it. What they are told is in `list::feed`.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, Weak},
};

use tallybook_protocol::FeedEvent;
use tokio::sync::{Notify, OnceCell, broadcast};

use crate::{accounts::UserId, journal::lock};

/// How many states with something new may wait for a reader.
const MAX_WAITING: usize = 16;

/// What has happened between two states; never nothing.
type News = Arc<[FeedEvent]>;

/// A reader of a user's feed.
#[derive(Debug)]
pub struct FeedReader(broadcast::Receiver<News>);

impl FeedReader {
    /// What happens next. Nothing when the server drains, when the conversations cannot be read, or when this reader has left too
    /// much waiting: it comes back by itself, and reads its list anew.
    pub async fn next(&mut self) -> Option<Arc<[FeedEvent]>> {
        self.0.recv().await.ok()
    }
}

/// The feeds that are read in this process.
#[derive(Debug, Default)]
pub(super) struct Feeds(Mutex<HashMap<UserId, Weak<UserFeed>>>);

/// What the readers of one user share. It lasts as long as the task that takes the states.
#[derive(Debug)]
pub(super) struct UserFeed {
    /// Set when the first state is taken.
    pub(super) began: OnceCell<()>,
    /// Holds a permit after a change that is newer than the last state.
    changed: Notify,
    news: broadcast::Sender<News>,
}

impl Feeds {
    /// A user's feed, and one more reader of it.
    pub(super) fn join(&self, user: UserId) -> (Arc<UserFeed>, FeedReader) {
        let mut feeds = lock(&self.0);
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
    pub(super) fn announce(&self, user: UserId) {
        if let Some(feed) = lock(&self.0).get(&user).and_then(Weak::upgrade) {
            feed.changed.notify_one();
        }
    }

    /// Forgets a feed that nobody reads; `false` when somebody does by now.
    pub(super) fn forget(&self, user: UserId, feed: &UserFeed) -> bool {
        let mut feeds = lock(&self.0);
        let is_over = feed.news.receiver_count() == 0;
        if is_over {
            feeds.remove(&user);
        }
        is_over
    }
}

impl UserFeed {
    /// Waits for a change by this process since the last call, or since the feed was created.
    pub(super) async fn changed(&self) {
        self.changed.notified().await;
    }

    /// Waits until nobody reads it.
    pub(super) async fn unread(&self) {
        self.news.closed().await;
    }

    /// Tells all readers what has happened.
    pub(super) fn tell(&self, news: Vec<FeedEvent>) {
        // Nobody may be left to hear it.
        let _ = self.news.send(news.into());
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::Feeds;
    use crate::accounts::UserId;

    #[test]
    fn a_feed_hears_of_its_own_users_changes_and_of_no_others() {
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
