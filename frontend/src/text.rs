//! Every sentence and label that the page shows, in one place, so that a second language can be added beside the first.
//! What the server says about one turn (an error's sentence) comes from the server.

use tallybook_protocol::ToolCallStatus;

use crate::format;

/// The product's name.
pub(crate) const PRODUCT: &str = "Tallybook";
pub(crate) const NEW_CHAT: &str = "New chat";
pub(crate) const CONVERSATIONS: &str = "Conversations";
pub(crate) const NO_CONVERSATIONS: &str = "Your conversations will be listed here.";
pub(crate) const SEARCH: &str = "Search conversations";
pub(crate) const NOTHING_FOUND: &str = "No conversation matches. Try other words.";
pub(crate) const SHOW_MORE: &str = "Show more";
pub(crate) const TODAY: &str = "Today";
pub(crate) const YESTERDAY: &str = "Yesterday";
pub(crate) const LAST_WEEK: &str = "Previous 7 days";
pub(crate) const OLDER: &str = "Older";
pub(crate) const RENAME: &str = "Rename";
pub(crate) const RENAME_LABEL: &str = "New title";
pub(crate) const DELETE: &str = "Delete";
pub(crate) const DELETED: &str = "Deleted.";
pub(crate) const UNDO: &str = "Undo";
pub(crate) const OPEN_SIDEBAR: &str = "Show conversations";
pub(crate) const CLOSE_SIDEBAR: &str = "Hide conversations";
pub(crate) const RUNNING: &str = "Answering now";
pub(crate) const SKIP_TO_COMPOSER: &str = "Skip to the message field";

pub(crate) const COMPOSER_LABEL: &str = "Message";
pub(crate) const COMPOSER_PLACEHOLDER: &str = "Ask for a calculation…";
pub(crate) const COMPOSER_HINT: &str = "Enter sends · Shift+Enter breaks the line";
pub(crate) const SEND: &str = "Send";
pub(crate) const STOP: &str = "Stop";
pub(crate) const STOPPING: &str = "Stopping…";
pub(crate) const NEEDS_JAVASCRIPT: &str =
    "You can read this conversation as it is. To write, switch on JavaScript for this page.";

pub(crate) const EMPTY_TITLE: &str = "What shall we work out?";
pub(crate) const EMPTY_TEXT: &str =
    "Ask in your own words. Every tool call is kept, with what went in, what came out and how long it took.";
/// Three prompts that show the tools: several steps, exact long numbers, and a call that fails and is explained.
pub(crate) const EXAMPLES: [&str; 3] =
    ["What is (12.5 + 7.25) × 4?", "Multiply 123456789012345678901234567890 by 987654321", "What is 1 divided by 0?"];

pub(crate) const YOU_SAID: &str = "You said";
pub(crate) const ANSWER: &str = "Answer";
pub(crate) const THINKING: &str = "Thinking…";
pub(crate) const STILL_WAITING: &str = "Still waiting…";
pub(crate) const SENDING: &str = "Sending…";
pub(crate) const STOPPED: &str = "Stopped. What was written so far is kept.";
pub(crate) const INTERRUPTED: &str = "The server went away during this answer. What was written so far is kept.";
pub(crate) const CONTINUE: &str = "Continue";
pub(crate) const FAILED: &str = "This answer failed. Send the message again to try once more.";
pub(crate) const NO_OUTPUT: &str = "Finished with no output.";
pub(crate) const JUMP_TO_NEWEST: &str = "Jump to newest";

pub(crate) const COPY: &str = "Copy";
pub(crate) const COPIED: &str = "Copied";
pub(crate) const TABLE: &str = "Table";
pub(crate) const TASK_DONE: &str = "Done";
pub(crate) const TASK_OPEN: &str = "Not done";

pub(crate) const INPUT: &str = "Input";
pub(crate) const OUTPUT: &str = "Output";
pub(crate) const ERROR: &str = "Error";
pub(crate) const NO_ARGUMENTS: &str = "No arguments.";
pub(crate) const STILL_RUNNING: &str = "Running…";

pub(crate) const NOT_FOUND_TITLE: &str = "Nothing here";
pub(crate) const NOT_FOUND_PAGE: &str = "There is no page at this address.";
pub(crate) const NOT_FOUND_CONVERSATION: &str = "There is no conversation at this address. It may have been deleted.";
pub(crate) const START_NEW: &str = "Start a new chat";
pub(crate) const FAILED_TITLE: &str = "This page could not be loaded";
pub(crate) const RELOAD: &str = "Try again";

pub(crate) const UNREACHABLE: &str = "The server cannot be reached. Check the connection, then try again.";
pub(crate) const UNREADABLE: &str = "The server's answer could not be read. Reload the page, then try again.";
pub(crate) const TURN_RUNNING: &str = "This conversation is already being answered, perhaps in another tab. Wait for the end or stop it, then send again.";
pub(crate) const CONNECTION_LOST: &str =
    "The connection could not be restored. Reload the page to see how the answer went on.";
#[cfg_attr(feature = "hydrate", expect(dead_code, reason = "only a server can lack its data"))]
pub(crate) const NO_DATA: &str = "The server has no data for this page.";

/// Names the model at the top of the page.
pub(crate) fn model(model: &str) -> String {
    format!("Model: {model}")
}

/// The button that renames a conversation, for those who do not see where it stands.
pub(crate) fn rename(title: &str) -> String {
    format!("Rename “{title}”")
}

/// The button that deletes a conversation, for those who do not see where it stands.
pub(crate) fn delete(title: &str) -> String {
    format!("Delete “{title}”")
}

/// The words in the browser's tab.
pub(crate) fn page_title(conversation: Option<&str>) -> String {
    conversation.map_or_else(|| PRODUCT.to_owned(), |title| format!("{title} · {PRODUCT}"))
}

/// How long an answer has been waited for.
pub(crate) fn waited(seconds: u64) -> String {
    format!("{seconds}s")
}

/// While the connection is down.
pub(crate) fn reconnecting(seconds: u64) -> String {
    format!("Reconnecting… (retrying in {seconds}s)")
}

/// The button under the beginning of a long output.
pub(crate) fn show_all(characters: usize) -> String {
    format!("Show all ({} characters)", format::count(characters))
}

/// A refusal without a sentence of its own.
pub(crate) fn refused(status: u16) -> String {
    format!("The server refused this (status {status}). Try again in a moment.")
}

/// A tool call's state in words, for those who do not see its icon.
pub(crate) fn call_status(status: ToolCallStatus) -> &'static str {
    match status {
        ToolCallStatus::Pending => "running",
        ToolCallStatus::AwaitingApproval => "waiting for approval",
        ToolCallStatus::Success => "done",
        ToolCallStatus::Error => "failed",
        ToolCallStatus::Denied => "denied",
        ToolCallStatus::Cancelled => "cancelled",
        ToolCallStatus::Interrupted => "interrupted",
        ToolCallStatus::Unknown => "in an unknown state",
    }
}

/// What an opened call without output says about why there is none.
pub(crate) fn call_note(status: ToolCallStatus) -> Option<&'static str> {
    match status {
        ToolCallStatus::Pending => Some(STILL_RUNNING),
        ToolCallStatus::AwaitingApproval => Some("Waits for a decision before it runs."),
        ToolCallStatus::Success => Some(NO_OUTPUT),
        ToolCallStatus::Denied => Some("This call was refused, so it did not run."),
        ToolCallStatus::Cancelled => Some("The answer was stopped during this call."),
        ToolCallStatus::Interrupted => Some("The server restarted during this call. It may have run."),
        ToolCallStatus::Error | ToolCallStatus::Unknown => None,
    }
}

/// The line that says whose answers these are.
pub(crate) const DEMO_NOTICE_START: &str = "This is the built-in demo model: it knows arithmetic only. Set ";
pub(crate) const DEMO_NOTICE_OR: &str = " or ";
pub(crate) const DEMO_NOTICE_END: &str = " and start again to connect a real one.";
/// The settings named in it: each chooses a provider by being set.
pub(crate) const DEMO_SETTINGS: [&str; 2] = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"];
