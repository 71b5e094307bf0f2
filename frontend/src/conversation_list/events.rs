//! Applies what events say about a conversation, without a request to the server.

use leptos::prelude::*;
use tallybook_protocol::{ConversationSummary, FeedEvent, FeedKind};
use uuid::Uuid;

use super::{pages::Pages, state::ConversationList};
use crate::session::forget_draft;

impl ConversationList {
    /// Applies an event.
    pub(super) fn apply(self, event: FeedEvent) {
        let uuid = event.conversation_id;
        match (event.kind, event.title) {
            (FeedKind::ConversationRenamed, Some(title)) => self.change(uuid, |item| title.clone_into(&mut item.title)),
            (FeedKind::ConversationDeleted, _) => self.remove(uuid),
            (FeedKind::TurnStarted, _) => self.change(uuid, |item| item.running = true),
            (FeedKind::TurnEnded, _) => self.change(uuid, |item| item.running = false),
            (FeedKind::ConversationUpdated, _) => self.change(uuid, |item| {
                item.pinned = event.pinned.unwrap_or(item.pinned);
                item.archived = event.archived.unwrap_or(item.archived);
            }),
            (
                FeedKind::ConversationCreated
                | FeedKind::ConversationRenamed
                | FeedKind::BranchSelected
                | FeedKind::Unknown,
                _,
            ) => {}
        }
    }

    fn change(self, uuid: Uuid, change: impl Fn(&mut ConversationSummary)) {
        let is_known = |pages: &Pages| pages.find(uuid).is_some();
        if self.pages.try_with_untracked(is_known) == Some(true) {
            self.pages.update(|pages| pages.change(uuid, &change));
        }
    }

    pub(super) fn remove(self, uuid: Uuid) {
        forget_draft(Some(uuid));
        self.pages.try_update(|pages| pages.remove(uuid));
    }
}
