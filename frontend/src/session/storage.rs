//! Where what is being written is kept for the next time the page is loaded.

use tallybook_protocol::{NewMessage, ToolCallId};
use uuid::Uuid;

use super::queue::Queue;
use crate::browser;

/// What is kept of what was being written in a conversation, or in a new chat.
pub(super) fn kept_draft(conversation: Option<Uuid>) -> String {
    browser::kept(&draft_name(conversation))
}

pub(super) fn keep_draft(conversation: Option<Uuid>, text: &str) {
    browser::keep(&draft_name(conversation), text);
}

/// What is kept of the messages that waited there.
pub(super) fn kept_queue(conversation: Option<Uuid>) -> Queue {
    Queue::from_text(&browser::kept(&queue_name(conversation)))
}

pub(super) fn keep_queue(conversation: Option<Uuid>, queue: &Queue) {
    browser::keep(&queue_name(conversation), &queue.to_text());
}

/// Whether answers there are to be made by a plan.
pub(super) fn kept_plans_first(conversation: Option<Uuid>) -> bool {
    !browser::kept(&plan_name(conversation)).is_empty()
}

pub(super) fn keep_plans_first(conversation: Option<Uuid>, plans_first: bool) {
    browser::keep(&plan_name(conversation), if plans_first { "on" } else { "" });
}

/// Forgets what was being written in a conversation, or in a new chat.
pub(crate) fn forget_draft(conversation: Option<Uuid>) {
    keep_draft(conversation, "");
    keep_queue(conversation, &Queue::default());
    keep_plans_first(conversation, false);
}

/// Forgets a message that was kept as long as it was not known to be stored.
pub(super) fn forget_sent(conversation: Option<Uuid>, message: &NewMessage) {
    let mut queue = kept_queue(conversation);
    if message.client_message_id.as_ref().is_some_and(|id| queue.remove(id).is_some()) {
        return keep_queue(conversation, &queue);
    }
    let kept = kept_draft(conversation);
    if let Some(rest) = kept.strip_prefix(&message.content) {
        keep_draft(conversation, rest.trim_start());
    }
}

/// Returns the reason that was written for denying a call. It is kept until the call is decided on.
pub(crate) fn kept_reason(call: ToolCallId) -> String {
    browser::kept(&reason_name(call))
}

pub(crate) fn keep_reason(call: ToolCallId, text: &str) {
    browser::keep(&reason_name(call), text);
}

fn reason_name(call: ToolCallId) -> String {
    format!("reason-{call}")
}

/// The name that it is kept under.
pub(crate) fn draft_name(conversation: Option<Uuid>) -> String {
    name_of("draft", conversation)
}

fn queue_name(conversation: Option<Uuid>) -> String {
    name_of("queue", conversation)
}

fn plan_name(conversation: Option<Uuid>) -> String {
    name_of("plan", conversation)
}

fn name_of(kind: &str, conversation: Option<Uuid>) -> String {
    conversation.map_or_else(|| kind.to_owned(), |uuid| format!("{kind}-{uuid}"))
}
