//! What travels between Tallybook's server and its readers: REST resources, chat events, and the framing of
//! server-sent events. Types and pure functions only: no I/O, no async, nothing that differs between host and browser.

mod event;
mod feed;
mod raw_json;
mod resource;
pub mod sse;

pub use event::{
    ChatEvent, ContentDelta, MessageEnd, MessageStart, Snapshot, ToolCallEnd, ToolCallStart, TurnError, Usage,
};
pub use feed::{FeedEvent, FeedKind, PAGE_HEADER};
pub use raw_json::{RawJson, json_depth};
pub use resource::{
    Conversation, ConversationSummary, Earlier, Message, MessageStatus, ModelInfo, NewConversation, NewMessage, Page,
    Problem, RenameConversation, Role, ToolCall, ToolCallStatus, ToolInfo, Window,
};
