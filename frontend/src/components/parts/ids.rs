//! IDs of elements that other parts of the page focus or refer to.

use tallybook_protocol::ToolCallId;
use uuid::Uuid;

/// The button that closes a sidebar drawer.
pub(crate) const CLOSE_ID: &str = "close-sidebar";

/// The button that attaches files.
pub(crate) const ATTACH_ID: &str = "attach";

/// The field in which the user chooses files.
pub(crate) const FILES_ID: &str = "files";

/// The message field.
pub(crate) const COMPOSER_ID: &str = "composer";

/// The hint below the message field.
pub(crate) const COMPOSER_HINT_ID: &str = "composer-hint";

/// The form of the message field.
pub(crate) const COMPOSER_FORM_ID: &str = "composer-form";

/// The element around the message field that has the field's height.
pub(crate) const COMPOSER_FIELD_ID: &str = "composer-field";

/// The field of a message that is being edited.
pub(crate) const EDIT_FIELD_ID: &str = "edit-field";

/// The list and the open conversation.
pub(crate) const PAGE_ID: &str = "page";

/// The open conversation.
pub(crate) const MAIN_ID: &str = "main";

/// The messages.
pub(crate) const MESSAGES_ID: &str = "messages";

/// The place of the button that loads earlier messages.
pub(crate) const EARLIER_ID: &str = "earlier";

/// The message field and what is above and below it.
pub(crate) const DOCK_ID: &str = "dock";

/// The list of conversations.
pub(crate) const SIDEBAR_ID: &str = "sidebar";

/// The header.
pub(crate) const HEADER_ID: &str = "header";

/// The search field.
pub(crate) const SEARCH_ID: &str = "search";

/// The link to a conversation in the list.
pub(crate) fn link_id(conversation: Uuid) -> String {
    format!("conversation-{conversation}")
}

/// The checkbox that selects a conversation.
pub(crate) fn choice_id(conversation: Uuid) -> String {
    format!("choose-{conversation}")
}

/// The card of a call that waits for approval.
pub(crate) fn card_id(id: ToolCallId) -> String {
    format!("approval-{id}")
}

/// The button that opens the list of tools.
pub(crate) const TOOLS_BUTTON_ID: &str = "open-tools";
