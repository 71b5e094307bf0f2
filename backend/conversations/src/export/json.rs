//! Writes a conversation as JSON for other software, piece by piece: the JSON of the API, and a `version`.

use serde::Serialize;
use serde_json::Value;
use tallybook_protocol::{AccountFile, ConversationSummary, Message, MessageId, ToolCall};

use crate::store::rows::{ConversationRow, StoredSummary};

/// Version of the file format. It is incremented when existing readers could no longer read the file.
const VERSION: u32 = 1;

/// The end of an object whose last list stays open: of a conversation or an account.
pub(crate) const END: &str = "]}\n";

/// Returns the line of an account before its files. `account` is an object.
pub(crate) fn account_head(account: &Value) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Head<'a> {
        #[serde(flatten)]
        account: &'a Value,
        files: [AccountFile; 0],
    }
    open_list(&Head { account, files: [] })
}

/// Returns the JSON of files, `is_first` if they begin the list.
pub(crate) fn files(files: &[AccountFile], is_first: bool) -> serde_json::Result<String> {
    let list = serde_json::to_string(files)?;
    let items = list.strip_prefix('[').and_then(|list| list.strip_suffix(']')).unwrap_or_default();
    Ok(if is_first { items.to_owned() } else { format!(",{items}") })
}

/// Returns the JSON of `head`, whose last field is an empty list. The list stays open: its items follow one by one.
fn open_list(head: &impl Serialize) -> serde_json::Result<String> {
    let mut json = serde_json::to_string(head)?;
    json.truncate(json.len() - "]}".len());
    Ok(json)
}

/// Returns everything before the messages.
pub(crate) fn head(row: &ConversationRow, summaries: &[StoredSummary]) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Head<'a> {
        version: u32,
        #[serde(flatten)]
        summary: ConversationSummary,
        active_message_id: Option<MessageId>,
        /// Summaries that models wrote so far. Each names the last answer that it covers.
        #[serde(skip_serializing_if = "<[_]>::is_empty")]
        summaries: &'a [StoredSummary],
        messages: [Message; 0],
    }
    let active_message_id = row.running_message_id();
    let head = Head { version: VERSION, summary: row.summary(), active_message_id, summaries, messages: [] };
    open_list(&head)
}

/// A message that is written piece by piece: its beginning, its tool calls, and the rest.
pub(crate) struct MessageWriter {
    begin: String,
    end: String,
    has_calls: bool,
}

impl MessageWriter {
    /// Creates a writer for a message whose tool calls follow one by one.
    pub(crate) fn new(message: Message, is_first: bool) -> serde_json::Result<Self> {
        let json = serde_json::to_string(&Message { tool_calls: Vec::new(), ..message })?;
        // Inside a string these quotes would be escaped, so this matches the list itself. The list stays open.
        let (begin, end) = json.split_once(r#""tool_calls":[]"#).unwrap_or((&json, ""));
        let comma = if is_first { "" } else { "," };
        let begin = format!(r#"{comma}{begin}"tool_calls":["#);
        Ok(Self { begin, end: format!("]{end}"), has_calls: false })
    }

    /// Returns the JSON before the tool calls.
    pub(crate) fn begin(&mut self) -> String {
        std::mem::take(&mut self.begin)
    }

    /// Returns the JSON of a tool call.
    pub(crate) fn call(&mut self, call: &ToolCall) -> serde_json::Result<String> {
        let comma = if self.has_calls { "," } else { "" };
        self.has_calls = true;
        Ok(format!("{comma}{}", serde_json::to_string(call)?))
    }

    /// Returns the JSON after the tool calls.
    pub(crate) fn end(self) -> String {
        self.end
    }
}
