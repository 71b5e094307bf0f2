//! Keeps the unsent texts of a conversation, or of a new chat, for the next time the page is loaded.

use serde::Serialize;
use tallybook_protocol::ToolCallId;
use uuid::Uuid;

use super::{
    files::{AttachedFile, MAX_FILES},
    queue::Queue,
    state::State,
    unsent::{KeptEdit, Sent, UnsentMessage},
};
use crate::drafts;

/// The unsent texts and choices of a session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Kept {
    /// The conversation; `None` for a new chat.
    pub(super) conversation: Option<Uuid>,
    pub(super) draft: String,
    pub(super) files: Vec<AttachedFile>,
    pub(super) queue: Queue,
    pub(super) plans_first: bool,
    /// A question that is being edited.
    pub(super) edit: Option<KeptEdit>,
    /// The message whose arrival is unknown.
    pub(super) sent: Option<Sent>,
}

impl Kept {
    /// Reads what is kept of a conversation.
    pub(super) fn of(conversation: Option<Uuid>) -> Self {
        let kept = |kind| drafts::kept(&name_of(kind, conversation));
        Self {
            conversation,
            draft: kept(DRAFT),
            files: files_from(&kept(FILES)),
            queue: Queue::from_text(&kept(QUEUE)),
            plans_first: !kept(PLAN).is_empty(),
            edit: serde_json::from_str(&kept(EDIT)).ok(),
            sent: serde_json::from_str(&kept(SENT)).ok(),
        }
    }

    /// Returns `true` if nothing but the text of the message field, and the choice of a plan, is kept.
    pub(super) fn has_only_text(&self) -> bool {
        self.files.is_empty() && self.queue.messages.is_empty() && self.edit.is_none() && self.sent.is_none()
    }

    /// Returns what is to be kept of a session.
    pub(super) fn now(state: &State) -> Self {
        Self {
            conversation: state.uuid(),
            draft: state.unsent(),
            files: state.unsent_files(),
            queue: state.queue.clone(),
            plans_first: state.plans_first,
            edit: state.unsent_edit(),
            sent: state.uncertain().cloned(),
        }
    }

    /// Writes what differs from `before`. What another tab has changed meanwhile stays unless it was changed here, too.
    pub(super) fn write(&self, before: &Self) {
        let is_same = self.conversation == before.conversation;
        if !is_same {
            forget_draft(before.conversation);
        }
        let none = Self::default();
        let before = if is_same { before } else { &none };
        let keep = |kind, text: &str| drafts::keep(&name_of(kind, self.conversation), text);
        if self.draft != before.draft {
            keep(DRAFT, &self.draft);
        }
        if self.files != before.files {
            keep(FILES, &json(Some(&self.files).filter(|files| !files.is_empty())));
        }
        if self.queue != before.queue {
            keep(QUEUE, &self.queue.to_text());
        }
        if self.plans_first != before.plans_first {
            keep(PLAN, if self.plans_first { "on" } else { "" });
        }
        if self.edit != before.edit {
            keep(EDIT, &json(self.edit.as_ref()));
        }
        if self.sent != before.sent {
            keep(SENT, &json(self.sent.as_ref()));
        }
    }
}

fn json<T: Serialize>(kept: Option<&T>) -> String {
    kept.and_then(|kept| serde_json::to_string(kept).ok()).unwrap_or_default()
}

/// A change that another tab made to the unsent texts of the same conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Elsewhere {
    Draft(String),
    Files(Vec<AttachedFile>),
    Queue(Queue),
}

impl Elsewhere {
    /// Reads a change of the text that is kept under `name`; `None` if it concerns another conversation or kind of
    /// text.
    pub(super) fn of(name: &str, text: String, conversation: Option<Uuid>) -> Option<Self> {
        if name == name_of(DRAFT, conversation) {
            Some(Self::Draft(text))
        } else if name == name_of(FILES, conversation) {
            Some(Self::Files(files_from(&text)))
        } else if name == name_of(QUEUE, conversation) {
            Some(Self::Queue(Queue::from_text(&text)))
        } else {
            None
        }
    }
}

/// Reads stored files of a message field. Returns none if the text cannot be parsed.
fn files_from(text: &str) -> Vec<AttachedFile> {
    let mut files: Vec<AttachedFile> = serde_json::from_str(text).unwrap_or_default();
    files.truncate(MAX_FILES);
    files
}

/// Returns the text and files that are kept of the message field of a conversation, or of a new chat.
pub(super) fn kept_draft(conversation: Option<Uuid>) -> (String, Vec<AttachedFile>) {
    (drafts::kept(&draft_name(conversation)), files_from(&drafts::kept(&name_of(FILES, conversation))))
}

/// Keeps the text of the message field of a conversation, or of a new chat.
pub(super) fn keep_draft(conversation: Option<Uuid>, text: &str) {
    drafts::keep(&draft_name(conversation), text);
}

/// Returns the messages that wait in a conversation.
pub(crate) fn kept_queue(conversation: Uuid) -> Queue {
    Queue::from_text(&drafts::kept(&name_of(QUEUE, Some(conversation))))
}

/// Keeps the messages that wait in a conversation that is not open.
pub(crate) fn keep_queue(conversation: Uuid, queue: &Queue) {
    drafts::keep(&name_of(QUEUE, Some(conversation)), &queue.to_text());
}

/// Forgets what was being written in a conversation, or in a new chat.
pub(crate) fn forget_draft(conversation: Option<Uuid>) {
    for kind in [DRAFT, FILES, QUEUE, PLAN, EDIT, SENT] {
        drafts::keep(&name_of(kind, conversation), "");
    }
}

/// Forgets what was being written in all conversations. The texts of the new chat stay.
pub(crate) fn forget_conversation_drafts() {
    drafts::forget_where(is_of_conversation);
}

/// Returns `true` for the name of a draft that belongs to a conversation.
fn is_of_conversation(name: &str) -> bool {
    let Some((kind, owner)) = name.split_once('-') else { return false };
    match kind {
        DRAFT | FILES | QUEUE | PLAN | EDIT | SENT => owner.parse::<Uuid>().is_ok(),
        REASON | INPUT => true,
        _ => false,
    }
}

/// Forgets a message that was kept as long as it was not known to be stored.
pub(super) fn forget_sent(conversation: Option<Uuid>, message: &UnsentMessage) {
    let mut kept = Kept::of(conversation);
    let before = kept.clone();
    kept.sent = None;
    let is_queued = message.client_message_id.as_ref().is_some_and(|id| kept.queue.remove(id).is_some());
    if message.edit_of.is_some() {
        kept.edit = kept.edit.filter(|edit| Some(edit.id) != message.edit_of || edit.text != message.content);
    } else if !is_queued && let Some(rest) = kept.draft.strip_prefix(&message.content) {
        kept.draft = rest.trim_start().to_owned();
        kept.files.retain(|file| !message.files.iter().any(|sent| file.ready().is_some_and(|file| file.id == sent.id)));
    }
    kept.write(&before);
}

/// Returns the reason that was written for denying a call. It is kept until the call is decided on.
pub(crate) fn kept_reason(call: ToolCallId) -> String {
    drafts::kept(&reason_name(call))
}

/// Keeps the reason for denying a call.
pub(crate) fn keep_reason(call: ToolCallId, text: &str) {
    drafts::keep(&reason_name(call), text);
}

/// Returns the input that was written in place of a call's. It is kept until the call is decided on.
pub(crate) fn kept_input(call: ToolCallId) -> Option<String> {
    Some(drafts::kept(&input_name(call))).filter(|input| !input.is_empty())
}

/// Keeps the input that is written in place of a call's.
pub(crate) fn keep_input(call: ToolCallId, text: &str) {
    drafts::keep(&input_name(call), text);
}

fn reason_name(call: ToolCallId) -> String {
    format!("{REASON}-{call}")
}

fn input_name(call: ToolCallId) -> String {
    format!("{INPUT}-{call}")
}

const DRAFT: &str = "draft";
const FILES: &str = "files";
const QUEUE: &str = "queue";
const PLAN: &str = "plan";
const EDIT: &str = "edit";
const SENT: &str = "sent";
const REASON: &str = "reason";
const INPUT: &str = "input";

/// Returns the name under which the text of the message field is kept.
pub(crate) fn draft_name(conversation: Option<Uuid>) -> String {
    name_of(DRAFT, conversation)
}

fn name_of(kind: &str, conversation: Option<Uuid>) -> String {
    conversation.map_or_else(|| kind.to_owned(), |uuid| format!("{kind}-{uuid}"))
}

#[cfg(test)]
mod tests {
    use tallybook_protocol::ToolCallId;
    use uuid::Uuid;

    use super::{DRAFT, QUEUE, input_name, is_of_conversation, name_of, reason_name};

    #[test]
    fn drafts_of_conversations_are_distinguished_from_others() {
        let uuid = Some(Uuid::from_u128(7));
        let call = ToolCallId(5);
        for name in [name_of(DRAFT, uuid), name_of(QUEUE, uuid), reason_name(call), input_name(call)] {
            assert!(is_of_conversation(&name), "{name}");
        }
        for name in [name_of(DRAFT, None), name_of(QUEUE, None), "instructions".to_owned(), "draft-x".to_owned()] {
            assert!(!is_of_conversation(&name), "{name}");
        }
    }
}
