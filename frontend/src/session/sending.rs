//! Sending a message: to a conversation that may have to be made first, and back into its field when that failed. What is
//! being written is kept for the next time the page is loaded.

use std::sync::Arc;

use leptos::prelude::*;
use tallybook_protocol::{MessageId, NewMessage};
use uuid::Uuid;

use super::{Edited, Phase, Session};
use crate::{
    api::{self, ApiError, EventStream},
    browser,
    transcript::Entry,
};

impl Session {
    /// Sends `content` as a message. Does nothing while a turn runs, or when there is no text in it.
    pub(crate) fn send(self, content: &str) {
        self.post(content, None);
    }

    pub(super) fn post(self, content: &str, edit_of: Option<MessageId>) {
        let content = content.trim().to_owned();
        if content.is_empty() || self.phase.get_untracked() != Phase::Idle {
            return;
        }
        let cut = edit_of.map(|id| self.split_off(id)).unwrap_or_default();
        self.phase.set(Phase::Sending);
        self.begins.set_value(true);
        self.notice.set(None);
        if self.edited.with_untracked(Option::is_some) {
            self.edited.set(None);
        }
        self.unstored.set(Some(content.clone()));
        let message = self.message(content, edit_of);
        self.spawn_reading(async move {
            match self.deliver(&message).await {
                Ok((uuid, stream)) => self.follow(uuid, Some(stream)).await,
                Err(error) => self.give_back(message, cut, &error),
            }
        });
    }

    async fn deliver(self, message: &NewMessage) -> Result<(Uuid, EventStream), ApiError> {
        let uuid = if let Some(uuid) = self.uuid.get_value() {
            uuid
        } else {
            let uuid = api::create_conversation().await?.uuid;
            self.uuid.set_value(Some(uuid));
            // What is being written meanwhile belongs to the conversation now.
            forget_draft(None);
            self.draft.with_untracked(|draft| browser::keep(&draft_name(Some(uuid)), draft));
            self.listeners.created.run(uuid);
            uuid
        };
        Ok((uuid, api::send_message(uuid, message).await?))
    }

    /// What was typed goes back to where it was typed; text written meanwhile stays below it.
    fn give_back(self, message: NewMessage, cut: Vec<Arc<Entry>>, error: &ApiError) {
        let content = message.content.clone();
        if let Some(id) = message.edit_of {
            self.edited.set(Some(Edited { id, text: content }));
        } else {
            self.draft.update(|draft| {
                let newer = std::mem::take(draft);
                *draft = if newer.trim().is_empty() { content } else { [content, newer].join("\n") };
            });
        }
        self.failed.set_value(Some(message));
        self.restore(cut, error);
        self.listeners.changed.run(());
    }

    /// The message to send: the one that failed to be sent, when it is the same, so that it is stored once.
    fn message(self, content: String, edit_of: Option<MessageId>) -> NewMessage {
        let same = |failed: &NewMessage| failed.content == content && failed.edit_of == edit_of;
        let again = self.failed.with_value(|failed| failed.clone().filter(same));
        again.unwrap_or_else(|| NewMessage {
            content,
            client_message_id: Some(browser::random_id()),
            edit_of,
            ..NewMessage::default()
        })
    }
}

/// Forgets what was being written in a conversation, or in a new chat.
pub(crate) fn forget_draft(conversation: Option<Uuid>) {
    browser::keep(&draft_name(conversation), "");
}

/// What the draft is kept under that belongs to a conversation, or to a new chat.
pub(super) fn draft_name(conversation: Option<Uuid>) -> String {
    conversation.map_or_else(|| "draft".to_owned(), |uuid| format!("draft-{uuid}"))
}
