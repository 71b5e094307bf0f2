//! A conversation as JSON for programs: the API's own shape and a `version`, written piece by piece.

use serde::Serialize;
use tallybook_protocol::{ConversationSummary, Message, MessageId, ToolCall};

use super::super::store::rows::{ConversationRow, StoredSummary};

/// The version of the file's shape; raised when a reader of the old shape could no longer read it.
const VERSION: u32 = 1;

/// What ends the file.
pub(super) const END: &str = "]}\n";

/// Everything before the messages.
pub(super) fn head(row: &ConversationRow, summaries: &[StoredSummary]) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Head<'a> {
        version: u32,
        #[serde(flatten)]
        summary: ConversationSummary,
        active_message_id: Option<MessageId>,
        /// What models made of it so far, by the answer that each covers.
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        summaries: &'a [StoredSummary],
        messages: [Message; 0],
    }
    let active_message_id = row.running_message_id();
    let head = Head { version: VERSION, summary: row.summary(), active_message_id, summaries, messages: [] };
    let mut json = serde_json::to_string(&head)?;
    // The list stays open: its messages follow one by one.
    json.truncate(json.len() - "]}".len());
    Ok(json)
}

/// A message that is written piece by piece: its beginning, its calls, and the rest of it.
pub(super) struct MessageWriter {
    begin: String,
    end: String,
    has_calls: bool,
}

impl MessageWriter {
    /// A message whose calls are given one by one.
    pub(super) fn new(message: Message, is_first: bool) -> serde_json::Result<Self> {
        let json = serde_json::to_string(&Message { tool_calls: Vec::new(), ..message })?;
        // Within a text these quotes would be escaped, so this is the list itself, which stays open.
        let (begin, end) = json.split_once(r#""tool_calls":[]"#).unwrap_or((&json, ""));
        let comma = if is_first { "" } else { "," };
        let begin = format!(r#"{comma}{begin}"tool_calls":["#);
        Ok(Self { begin, end: format!("]{end}"), has_calls: false })
    }

    /// What comes before the calls.
    pub(super) fn begin(&mut self) -> String {
        std::mem::take(&mut self.begin)
    }

    /// A call.
    pub(super) fn call(&mut self, call: &ToolCall) -> serde_json::Result<String> {
        let comma = if self.has_calls { "," } else { "" };
        self.has_calls = true;
        Ok(format!("{comma}{}", serde_json::to_string(call)?))
    }

    /// What comes after the calls.
    pub(super) fn end(self) -> String {
        self.end
    }
}
