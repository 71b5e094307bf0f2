//! One message of a transcript with its tool calls, as far as the page has heard of them.

use tallybook_protocol::{Message, MessageStatus, RawJson, Role, ToolCall, ToolCallStatus, Usage};

/// One tool call, as far as the page has heard of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Row id.
    pub id: i64,
    /// The tool's name as the model wrote it.
    pub name: String,
    /// The arguments as the model wrote them.
    pub input: RawJson,
    /// Where in the message's text it happened, in UTF-8 bytes.
    pub offset: i64,
    /// Where it stands.
    pub status: ToolCallStatus,
    /// What the tool gave back.
    pub output: Option<String>,
    /// Why it failed.
    pub error: Option<String>,
    /// How long it ran, measured by the server.
    pub duration_ms: Option<i64>,
}

impl Call {
    /// Whether it has ended, in whichever way.
    pub fn is_over(&self) -> bool {
        !matches!(self.status, ToolCallStatus::Pending | ToolCallStatus::AwaitingApproval)
    }
}

impl From<ToolCall> for Call {
    fn from(call: ToolCall) -> Self {
        Self {
            id: call.tool_call_id,
            name: call.tool_name,
            input: call.input,
            offset: call.offset,
            status: call.status,
            output: call.output,
            error: call.error,
            duration_ms: call.duration_ms,
        }
    }
}

/// The epoch of a turn that was never cut off.
const FIRST_EPOCH: i32 = 1;

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Row id.
    pub id: i64,
    /// Who wrote it.
    pub role: Role,
    /// Its text so far.
    pub text: String,
    /// Where it stands.
    pub status: MessageStatus,
    /// What went wrong, in the server's words for the reader.
    pub error: Option<String>,
    /// The stable name of what went wrong.
    pub error_code: Option<String>,
    /// Why the model stopped, in the server's word.
    pub stop_reason: Option<String>,
    /// The calls made while answering.
    pub calls: Vec<Call>,
    /// Row ids of all its versions, oldest first; empty when it is the only one.
    pub siblings: Vec<i64>,
    /// What the answer cost; absent while it is written, and when the provider counts nothing.
    pub usage: Option<Usage>,
    /// The lease under which the turn was last heard of; it grows when the turn goes on after it was cut off.
    pub(super) epoch: i32,
}

impl Entry {
    pub(super) fn assistant(id: i64) -> Self {
        Self {
            id,
            role: Role::Assistant,
            text: String::new(),
            status: MessageStatus::Streaming,
            error: None,
            error_code: None,
            stop_reason: None,
            calls: Vec::new(),
            siblings: Vec::new(),
            usage: None,
            epoch: FIRST_EPOCH,
        }
    }

    pub(super) fn user(id: i64, text: String) -> Self {
        Self { role: Role::User, text, status: MessageStatus::Complete, ..Self::assistant(id) }
    }

    /// Whether its turn ended before the answer was whole, so that it can go on.
    pub fn is_cut_off(&self) -> bool {
        self.status.is_cut_off()
    }

    /// Whether the turn still writes this message.
    pub fn is_streaming(&self) -> bool {
        self.status == MessageStatus::Streaming
    }
}

impl From<Message> for Entry {
    fn from(message: Message) -> Self {
        Self {
            id: message.id,
            role: message.role,
            text: message.content,
            status: message.status,
            error: message.error,
            error_code: message.error_code,
            stop_reason: message.stop_reason,
            calls: message.tool_calls.into_iter().map(Call::from).collect(),
            siblings: message.siblings,
            usage: message.usage,
            epoch: message.epoch,
        }
    }
}
