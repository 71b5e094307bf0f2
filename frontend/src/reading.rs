//! Reading what the server tells of conversations. The code for it is large, and a page without messages can do without: it
//! is part of the file that draws them, and comes with that (`components::later`), or when it is first needed.
//!
//! What cannot be read is `None`; the error is that the file did not come.

use leptos::wasm_split::{SplitLoaderError, wasm_split};
use tallybook_protocol::{ChatEvent, Conversation, ToolCall, sse::Frame};

/// Events of a turn, each with the id to continue after: that of an earlier one when the server gave it none, absent before
/// the first.
pub(crate) type Events = Vec<(Option<String>, ChatEvent)>;

#[wasm_split(messages, wasm_split_path = ::leptos::wasm_split, preload(load), fallible)]
#[allow(clippy::unnecessary_wraps, reason = "the failure is that of loading it")]
pub(crate) fn conversation(json: String) -> Result<Option<Box<Conversation>>, SplitLoaderError> {
    Ok(serde_json::from_str(&json).ok())
}

#[wasm_split(messages, wasm_split_path = ::leptos::wasm_split, fallible)]
#[allow(clippy::unnecessary_wraps, reason = "the failure is that of loading it")]
pub(crate) fn call(json: String) -> Result<Option<Box<ToolCall>>, SplitLoaderError> {
    Ok(serde_json::from_str(&json).ok())
}

/// An event of a known kind that cannot be read counts as unknown: a snapshot or the end will mend it.
#[wasm_split(messages, wasm_split_path = ::leptos::wasm_split, fallible)]
#[allow(clippy::unnecessary_wraps, reason = "the failure is that of loading it")]
pub(crate) fn events(frames: Vec<Frame>) -> Result<Events, SplitLoaderError> {
    let read = |Frame { id, event, data, .. }| (id, ChatEvent::parse(&event, &data).unwrap_or(ChatEvent::Unknown));
    Ok(frames.into_iter().map(read).collect())
}
