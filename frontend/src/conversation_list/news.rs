//! What the feed tells, as far as the list shows it.

use leptos::prelude::UpdateValue as _;
use tallybook_protocol::{FeedEvent, FeedKind};

use super::ConversationList;
use crate::feed::News;

impl ConversationList {
    pub(super) fn hear(self, news: &News) {
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

    /// Shows what is known without asking.
    pub(super) fn apply(self, event: FeedEvent) {
        let uuid = event.conversation_id;
        match (event.kind, event.title) {
            (FeedKind::ConversationRenamed, Some(title)) => self.set_title(uuid, &title),
            (FeedKind::ConversationDeleted, _) => self.remove(uuid),
            (FeedKind::TurnStarted, _) => self.change(uuid, |item| item.running = true),
            (FeedKind::TurnEnded, _) => self.change(uuid, |item| item.running = false),
            (
                FeedKind::ConversationCreated
                | FeedKind::ConversationUpdated
                | FeedKind::ConversationRenamed
                | FeedKind::BranchSelected
                | FeedKind::Unknown,
                _,
            ) => {}
        }
    }
}
