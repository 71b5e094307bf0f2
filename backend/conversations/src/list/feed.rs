//! Produces each user's feed: events about conversations, for sidebars and idle tabs. The events are the difference between
//! two states of the newest conversations (`state`). So the feed is correct whichever process made a change, even if that
//! process died halfway. States are read once for all readers of a user, and only while there are readers.

mod state;

use std::{sync::Arc, time::Duration};

use state::ListState;
use tallybook_accounts::UserId;

use crate::{
    ServiceError,
    context::Context,
    feeds::{FeedReader, UserFeed},
};

/// Interval at which states are read to find changes by other processes. Changes by this process are noticed at once.
const POLL_EVERY: Duration = Duration::from_secs(1);

/// Subscribes to what happens to a user's conversations from now on, until the reader is dropped or the server drains. Slightly
/// earlier changes may be reported, too.
pub(crate) async fn watch(context: &Arc<Context>, user: UserId) -> Result<FeedReader, ServiceError> {
    let (feed, reader) = context.feeds.join(user);
    // A second reader also waits for the first state: all changes after that are reported.
    feed.began.get_or_try_init(|| begin(context, user, &feed)).await?;
    Ok(reader)
}

async fn begin(context: &Arc<Context>, user: UserId, feed: &Arc<UserFeed>) -> Result<(), ServiceError> {
    // The feed exists already and receives announcements, so no change is missed in between.
    let first = ListState::take(&context.db, user, None).await?;
    context.spawn_until_draining(keep_watching(Arc::clone(context), user, first, Arc::clone(feed)));
    Ok(())
}

async fn keep_watching(context: Arc<Context>, user: UserId, mut last: ListState, feed: Arc<UserFeed>) {
    loop {
        tokio::select! {
            () = feed.unread() => {
                if context.feeds.forget(user, &feed) {
                    return;
                }
            }
            () = feed.changed() => {}
            // Only this process changes an embedded database.
            () = tokio::time::sleep(POLL_EVERY), if !context.db.is_embedded() => {}
        }
        let state = match ListState::take(&context.db, user, Some(&last)).await {
            Ok(state) => state,
            Err(error) => {
                tracing::warn!(%error, "the conversations cannot be read, so the feeds of a user end");
                return;
            }
        };
        let news = state.changes_since(&last);
        if !news.is_empty() {
            feed.publish(news);
        }
        last = state;
    }
}
