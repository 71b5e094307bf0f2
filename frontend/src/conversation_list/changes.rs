//! The user's changes to the list. They are shown at once, sent to the server in order, and reverted if the server
//! refuses.

use std::time::Duration;

use leptos::{prelude::*, task::spawn_local};
use tallybook_protocol::{ConversationSummary, FeedEvent, FeedKind, UpdateConversation};
use uuid::Uuid;

use super::{
    pages::Pages,
    state::ConversationList,
    undo::{Batch, Undo, UndoableAction},
    writes::{Write, Writes},
};
use crate::{
    api::{self, ApiError},
    browser,
    feed::News,
    session::forget_conversation_drafts,
};

/// Time in which an action can be undone.
const UNDO_FOR: Duration = Duration::from_secs(6);

impl ConversationList {
    /// Renames a conversation.
    pub(crate) fn rename(self, uuid: Uuid, title: String) {
        self.trouble.set(None);
        self.update([uuid], &UpdateConversation { title: Some(title), ..UpdateConversation::default() });
        self.send_writes();
    }

    /// Pins conversations, or unpins them.
    pub(crate) fn pin(self, conversations: &[Uuid], pinned: bool) {
        self.trouble.set(None);
        let to = UpdateConversation { pinned: Some(pinned), ..UpdateConversation::default() };
        self.update(conversations.iter().copied(), &to);
        self.send_writes();
    }

    /// Archives conversations, or takes them out of the archive.
    pub(crate) fn archive(self, conversations: &[Uuid], archived: bool) {
        let action = if archived { UndoableAction::Archived } else { UndoableAction::Unarchived };
        if self.begin(action, conversations) {
            let to = UpdateConversation { archived: Some(archived), ..UpdateConversation::default() };
            self.update(conversations.iter().copied(), &to);
            self.send_writes();
        }
    }

    /// Deletes conversations, unless the user undoes that in time.
    pub(crate) fn delete(self, conversations: &[Uuid]) {
        self.begin(UndoableAction::Deleted, conversations);
    }

    /// Empties the list, because all conversations were deleted on the server. Loads it again, since others may have
    /// been created meanwhile.
    pub(crate) fn clear(self) {
        forget_conversation_drafts();
        self.trouble.set(None);
        // Changes of deleted conversations can neither be sent nor undone.
        self.undo.update(Undo::clear);
        self.writes.update_value(Writes::clear);
        self.end_selection();
        self.pages.update(Pages::clear);
        self.feed.publish(&News::Missed);
    }

    /// Returns the actions that can be undone, oldest first.
    pub(crate) fn batches(self) -> Vec<Batch> {
        self.undo.with(|undo| undo.batches().to_vec())
    }

    /// Undoes an action. Returns the first of its conversations.
    pub(crate) fn take_back(self, number: u32) -> Option<Uuid> {
        let batch = self.undo.try_update(|undo| undo.take(number)).flatten()?;
        if batch.action != UndoableAction::Deleted {
            for item in &batch.conversations {
                // It may no longer be in any page.
                let known = self.pages.with_untracked(|pages| pages.find(item.uuid).cloned());
                let before = ConversationSummary { archived: item.archived, ..known.unwrap_or_else(|| item.clone()) };
                let to = UpdateConversation { archived: Some(item.archived), ..UpdateConversation::default() };
                self.pages.update(|pages| pages.put(&before));
                self.push(item.uuid, Write::Update { back: to.clone(), to });
            }
            self.send_writes();
        }
        batch.conversations.first().map(|item| item.uuid)
    }

    /// Returns `true` if a conversation is deleted here, but not yet on the server.
    pub(crate) fn is_leaving(self, uuid: Uuid) -> bool {
        self.undo.with(|undo| undo.is_deleting(uuid))
    }

    /// Starts the time in which an action can be undone. Returns `false` if none of the conversations is known.
    fn begin(self, action: UndoableAction, conversations: &[Uuid]) -> bool {
        self.trouble.set(None);
        let known: Vec<_> = self
            .pages
            .with_untracked(|pages| conversations.iter().filter_map(|uuid| pages.find(*uuid).cloned()).collect());
        if known.is_empty() {
            return false;
        }
        let Some(number) = self.undo.try_update(|undo| undo.begin(action, known)) else { return false };
        spawn_local(async move {
            browser::sleep(UNDO_FOR).await;
            // The action may have been undone.
            let Some(batch) = self.undo.try_update(|undo| undo.take_due(number)).flatten() else { return };
            if batch.action == UndoableAction::Deleted {
                batch.conversations.iter().for_each(|item| self.push(item.uuid, Write::Delete));
                self.send_writes();
            }
        });
        true
    }

    /// Changes conversations here, and queues the change for the server.
    fn update(self, conversations: impl IntoIterator<Item = Uuid>, to: &UpdateConversation) {
        for uuid in conversations {
            let Some(before) = self.pages.with_untracked(|pages| pages.find(uuid).cloned()) else { continue };
            let back = UpdateConversation {
                title: to.title.as_ref().map(|_| before.title.clone()),
                pinned: to.pinned.map(|_| before.pinned),
                archived: to.archived.map(|_| before.archived),
                model: to.model.as_ref().map(|_| before.model.clone()),
            };
            if back != *to {
                self.show(uuid, to);
                self.push(uuid, Write::Update { to: to.clone(), back });
            }
        }
    }

    fn show(self, uuid: Uuid, to: &UpdateConversation) {
        self.pages.try_update(|pages| {
            if let Some(mut item) = pages.find(uuid).cloned() {
                item.title = to.title.clone().unwrap_or(item.title);
                item.pinned = to.pinned.unwrap_or(item.pinned);
                item.archived = to.archived.unwrap_or(item.archived);
                pages.put(&item);
            }
        });
    }

    /// Shows pending changes again, because a list response may not contain them yet.
    pub(super) fn show_pending(self) {
        for (uuid, to) in self.writes.try_with_value(Writes::pending).unwrap_or_default() {
            self.show(uuid, &to);
        }
    }

    fn push(self, uuid: Uuid, write: Write) {
        self.writes.try_update_value(|writes| writes.push(uuid, write));
    }

    /// Sends as many queued changes as the limit allows. The others follow as these complete.
    fn send_writes(self) {
        while let Some((uuid, write)) = self.writes.try_update_value(Writes::next).flatten() {
            spawn_local(async move {
                let outcome = match &write {
                    Write::Update { to, .. } => api::update_conversation(uuid, to).await,
                    Write::Delete => api::delete_conversation(uuid).await,
                };
                self.end_write(uuid, &write, outcome);
                self.send_writes();
            });
        }
    }

    fn end_write(self, uuid: Uuid, write: &Write, outcome: Result<(), ApiError>) {
        let is_last = self.writes.try_update_value(|writes| writes.end(uuid, outcome.is_ok())).unwrap_or(false);
        match (write, outcome) {
            (Write::Delete, Err(error)) if !error.is_not_found() => self.complain(&error),
            (Write::Delete, _) => self.tell_deleted(uuid),
            (Write::Update { back, .. }, Err(error)) => {
                self.complain(&error);
                if is_last {
                    self.show(uuid, back);
                }
            }
            // Events that arrive now may still be older than the change. A list that is requested now is not.
            (Write::Update { .. }, Ok(())) => self.refresh(),
        }
        if *write == Write::Delete {
            self.undo.try_update(|undo| undo.end(uuid));
        }
    }

    fn complain(self, error: &ApiError) {
        self.trouble.try_set(Some(error.message(self.text)));
    }

    /// Sends all queued changes, and deletions that could still be undone, when the user leaves the page.
    pub(super) fn write_at_leaving(self) {
        let deletions = self.undo.try_update(Undo::take_deletions).unwrap_or_default();
        let deletions = deletions.into_iter().map(|uuid| (uuid, Write::Delete));
        let waiting = self.writes.try_update_value(Writes::take).unwrap_or_default();
        for (uuid, write) in waiting.into_iter().chain(deletions) {
            let url = api::conversation_url(uuid);
            match write {
                Write::Update { to, .. } => {
                    browser::send_at_leaving("PATCH", &url, serde_json::to_string(&to).ok().as_deref());
                }
                Write::Delete => {
                    browser::send_at_leaving("DELETE", &url, None);
                    self.remove(uuid);
                }
            }
        }
    }

    /// Reports the deletion of a conversation to all subscribers of the feed on this page.
    fn tell_deleted(self, uuid: Uuid) {
        let (kind, title) = (FeedKind::ConversationDeleted, None);
        self.feed.publish(&News::Event(FeedEvent {
            conversation_id: uuid,
            kind,
            title,
            pinned: None,
            archived: None,
            model: None,
        }));
    }
}
