//! The feed of each user: what happens to conversations, for sidebars and idle tabs. It tells the difference between two
//! states of the newest conversations (`state`), so it is true whoever made the change: this process, another one, or one that
//! died in the middle. The states are taken once for all readers of a user, and without readers none are.

mod state;

use std::{sync::Arc, time::Duration};

use state::ListState;

use super::super::{
    ServiceError,
    context::Context,
    feeds::{FeedReader, UserFeed},
};
use crate::accounts::UserId;

/// How often a state is taken for what other processes change. What this one changes is noticed at once.
const POLL_EVERY: Duration = Duration::from_secs(1);

/// What happens from now on to a user's conversations, until the reader goes away or the server drains. What happened a moment before
/// may be told as well.
pub(super) async fn watch(context: &Arc<Context>, user: UserId) -> Result<FeedReader, ServiceError> {
    let (feed, reader) = context.feeds.join(user);
    // Whoever comes second waits for the first state, too: what changes from then on is told.
    feed.began.get_or_try_init(|| begin(context, user, &feed)).await?;
    Ok(reader)
}

async fn begin(context: &Arc<Context>, user: UserId, feed: &Arc<UserFeed>) -> Result<(), ServiceError> {
    // The feed is there already and hears of changes, so that none falls between.
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
            // An embedded database is changed by nobody else.
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
            feed.tell(news);
        }
        last = state;
    }
}
