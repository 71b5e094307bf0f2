//! Applies events of the feed to the list.

use leptos::prelude::UpdateValue as _;
use tallybook_protocol::FeedKind;

use super::{state::ConversationList, writes::Writes};
use crate::feed::{Feed, News};

impl ConversationList {
    /// Subscribes the list to `feed`.
    pub(crate) fn follow(self, feed: Feed) {
        feed.subscribe(move |news| self.hear(&news));
    }

    fn hear(self, news: &News) {
        let event = match news {
            News::Missed => {
                self.refresh_archive();
                return self.refresh();
            }
            News::Event(event) => event.clone(),
        };
        match event.kind {
            // The position of the conversation and its title may have changed.
            FeedKind::ConversationCreated | FeedKind::TurnStarted => self.refresh(),
            FeedKind::ConversationUpdated => {
                self.refresh();
                self.refresh_archive();
            }
            FeedKind::ConversationRenamed
            | FeedKind::ConversationDeleted
            | FeedKind::TurnEnded
            | FeedKind::BranchSelected
            | FeedKind::Unknown => {}
        }
        let doubt = |writes: &mut Writes| writes.doubt(event.conversation_id);
        if matches!(event.kind, FeedKind::ConversationUpdated | FeedKind::ConversationRenamed)
            && self.writes.try_update_value(doubt).unwrap_or(true)
        {
            return self.refresh();
        }
        self.meanwhile.update_value(|meanwhile| meanwhile.iter_mut().for_each(|events| events.push(event.clone())));
        self.apply(event);
    }
}
