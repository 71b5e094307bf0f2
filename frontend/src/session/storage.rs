//! Where what is being written is kept for the next time the page is loaded.

use tallybook_protocol::NewMessage;
use uuid::Uuid;

use crate::browser;

/// What is kept of what was being written in a conversation, or in a new chat.
pub(super) fn kept_draft(conversation: Option<Uuid>) -> String {
    browser::kept(&name(conversation))
}

pub(super) fn keep_draft(conversation: Option<Uuid>, text: &str) {
    browser::keep(&name(conversation), text);
}

/// Forgets what was being written in a conversation, or in a new chat.
pub(crate) fn forget_draft(conversation: Option<Uuid>) {
    keep_draft(conversation, "");
}

/// Forgets a message that was kept as long as it was not known to be stored.
pub(super) fn forget_sent(conversation: Option<Uuid>, message: &NewMessage) {
    let kept = kept_draft(conversation);
    if let Some(rest) = kept.strip_prefix(&message.content) {
        keep_draft(conversation, rest.trim_start());
    }
}

fn name(conversation: Option<Uuid>) -> String {
    conversation.map_or_else(|| "draft".to_owned(), |uuid| format!("draft-{uuid}"))
}
