//! What the feed tells, as far as the list shows it.

use leptos::prelude::UpdateValue as _;
use tallybook_protocol::FeedKind;

use super::ConversationList;
use crate::feed::{Feed, News};

impl ConversationList {
    /// Keeps up with what `feed` tells.
    pub(crate) fn follow(self, feed: Feed) {
        feed.subscribe(move |news| self.hear(&news));
    }

    fn hear(self, news: &News) {
        let event = match news {
            News::Missed => return self.refresh(),
            News::Event(event) => event.clone(),
        };
        match event.kind {
            // It may be anywhere in the list by now, under whatever name.
            FeedKind::ConversationCreated | FeedKind::ConversationUpdated | FeedKind::TurnStarted => self.refresh(),
            FeedKind::ConversationRenamed
            | FeedKind::ConversationDeleted
            | FeedKind::TurnEnded
            | FeedKind::BranchSelected
            | FeedKind::Unknown => {}
        }
        self.meanwhile.update_value(|meanwhile| meanwhile.iter_mut().for_each(|told| told.push(event.clone())));
        self.apply(event);
    }
}
