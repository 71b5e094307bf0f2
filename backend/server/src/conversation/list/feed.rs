//! The feed of each user: what happens to conversations, for sidebars and idle tabs. It tells the difference between two
//! states of the newest conversations (`state`), so it is true whoever made the change: this process, another one, or one that
//! died in the middle. The states are taken once for all readers of a user, and without readers none are.

mod state;

use std::{sync::Arc, time::Duration};

use state::ListState;
use tokio::sync::broadcast;

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
    // Subscribed to before the first state, so that no change falls between.
    let changes = context.changes.subscribe();
    let first = ListState::take(&context.db, user, None).await?;
    context.spawn_until_draining(keep_watching(Arc::clone(context), user, changes, first, Arc::clone(feed)));
    Ok(())
}

async fn keep_watching(
    context: Arc<Context>,
    user: UserId,
    mut changes: broadcast::Receiver<UserId>,
    mut last: ListState,
    feed: Arc<UserFeed>,
) {
    loop {
        tokio::select! {
            () = feed.unread() => {
                if context.feeds.forget(user, &feed) {
                    return;
                }
            }
            () = is_changed(&mut changes, user) => {}
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

/// Waits for the next change to this user's conversations; one that was missed counts.
async fn is_changed(changes: &mut broadcast::Receiver<UserId>, user: UserId) {
    loop {
        match changes.recv().await {
            Ok(other) if other != user => {}
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => return,
            // The sender lives as long as the service, which this is part of.
            Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
        }
    }
}
