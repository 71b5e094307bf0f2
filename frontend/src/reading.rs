//! Parses the server's data of conversations and tools. The code is large, and a new chat does not need it. It is
//! in the WASM chunk that renders messages, and is loaded with that (`components::lazy`), or when it is first
//! called.
//!
//! The functions return `None` for data that cannot be parsed. The error means that the chunk could not be loaded.

use leptos::wasm_split::{SplitLoaderError, wasm_split};
use tallybook_protocol::{ChatEvent, Conversation, ToolCall, ToolList, sse::Frame};

/// Events of a turn, each with the ID to continue after. If the server gave an event no ID, it has the ID of an
/// earlier one; before the first ID, it is `None`.
pub(crate) type Events = Vec<(Option<String>, ChatEvent)>;

#[wasm_split(messages, wasm_split_path = ::leptos::wasm_split, preload(load), fallible)]
#[allow(clippy::unnecessary_wraps, reason = "the error is that the chunk could not be loaded")]
pub(crate) fn conversation(json: String) -> Result<Option<Box<Conversation>>, SplitLoaderError> {
    Ok(serde_json::from_str(&json).ok())
}

#[wasm_split(messages, wasm_split_path = ::leptos::wasm_split, fallible)]
#[allow(clippy::unnecessary_wraps, reason = "the error is that the chunk could not be loaded")]
pub(crate) fn call(json: String) -> Result<Option<Box<ToolCall>>, SplitLoaderError> {
    Ok(serde_json::from_str(&json).ok())
}

#[wasm_split(messages, wasm_split_path = ::leptos::wasm_split, fallible)]
#[allow(clippy::unnecessary_wraps, reason = "the error is that the chunk could not be loaded")]
pub(crate) fn tools(json: String) -> Result<Option<Box<ToolList>>, SplitLoaderError> {
    Ok(serde_json::from_str(&json).ok())
}

/// Parses the events of a turn. An event of a known kind that cannot be parsed counts as unknown, because a snapshot
/// or the end of the turn corrects the state.
#[wasm_split(messages, wasm_split_path = ::leptos::wasm_split, fallible)]
#[allow(clippy::unnecessary_wraps, reason = "the error is that the chunk could not be loaded")]
pub(crate) fn events(frames: Vec<Frame>) -> Result<Events, SplitLoaderError> {
    let read = |Frame { id, event, data, .. }| (id, ChatEvent::parse(&event, &data).unwrap_or(ChatEvent::Unknown));
    Ok(frames.into_iter().map(read).collect())
}
