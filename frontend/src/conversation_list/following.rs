//! The feed of what happens to conversations elsewhere, read while the tab is seen.

use std::time::Duration;

use futures_util::future::abortable;
use leptos::{prelude::*, task::spawn_local};
use tallybook_protocol::{FeedEvent, FeedKind};

use super::{ConversationList, Heard};
use crate::{api, browser};

const MAX_PAUSE_SECS: u64 = 30;

impl ConversationList {
    /// Follows the feed while the tab is seen. A hidden one needs no connection; it catches up when it is shown.
    pub(super) fn attend(self) {
        self.stop_following();
        if browser::is_hidden() {
            self.is_new.set_value(false);
            return;
        }
        let (task, handle) = abortable(self.follow());
        self.following.set_value(Some(handle));
        spawn_local(async move {
            // `Err` says that it was aborted, which is how it ends.
            let _ = task.await;
        });
    }

    pub(super) fn stop_following(self) {
        if let Some(handle) = self.following.try_update_value(Option::take).flatten() {
            handle.abort();
        }
    }

    async fn follow(self) {
        let mut attempt = 0;
        loop {
            if let Ok(mut feed) = api::feed().await {
                attempt = 0;
                let folder = self.folder.get_value();
                self.is_outdated.set(feed.folder.as_ref().is_some_and(|newest| *newest != folder));
                // What happened until now was heard by nobody here.
                self.refresh();
                let is_new = self.is_new.get_value() && !browser::is_kept();
                self.is_new.set_value(false);
                self.turned.run(if is_new { Heard::Joined } else { Heard::Missed });
                while let Some(events) = feed.next().await {
                    for event in events {
                        self.hear(event);
                    }
                }
            }
            self.is_new.set_value(false);
            attempt += 1;
            let seconds = 1_u64.checked_shl(attempt).unwrap_or(MAX_PAUSE_SECS).min(MAX_PAUSE_SECS);
            browser::sleep(Duration::from_secs(seconds)).await;
        }
    }

    fn hear(self, event: FeedEvent) {
        let uuid = event.conversation_id;
        match (event.kind, event.title) {
            (FeedKind::ConversationRenamed, Some(title)) => self.set_title(uuid, &title),
            (FeedKind::ConversationDeleted, _) => self.remove(uuid),
            (FeedKind::TurnEnded, _) => {
                self.change(uuid, |item| item.running = false);
                self.refresh();
            }
            (FeedKind::TurnStarted, _) => {
                self.refresh();
                self.turned.run(Heard::Began(uuid));
            }
            (FeedKind::BranchSelected, _) => self.turned.run(Heard::Selected(uuid)),
            (FeedKind::ConversationCreated | FeedKind::ConversationRenamed, _) => {
                self.refresh();
            }
            (FeedKind::ConversationUpdated | FeedKind::Unknown, _) => {}
        }
    }
}
