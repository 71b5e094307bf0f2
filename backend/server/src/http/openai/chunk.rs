//! Writes an answer as a stream of chunks (<https://platform.openai.com/docs/api-reference/chat-streaming>). The stream
//! consists of `data:` lines alone, because clients fail on any others. The part that all chunks of an answer share is
//! serialized once.

use std::collections::HashMap;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use tallybook_conversations::ClientCall;
use tallybook_protocol::{RawJson, ToolCallEnd, ToolCallId, ToolCallStart, ToolCallStatus, Usage};
use utoipa::ToSchema;

use super::{
    ask::StreamWish,
    limits::MAX_TOOL_EVENT_BYTES,
    refusal::Refusal,
    sink::{Sink, Writer},
    whole::UsageBody,
};

const EMPTY_DELTA: &str = r#""choices":[{"index":0,"delta":{},"finish_reason":null}]"#;

/// What a chunk is. [`Chunks`] writes them piece by piece, so that this alone says what comes of that.
#[derive(ToSchema)]
#[schema(as = CompletionChunk)]
#[expect(dead_code, reason = "it is only described")]
pub(crate) struct Chunk<'a> {
    id: &'a str,
    /// `chat.completion.chunk`
    object: &'a str,
    created: i64,
    model: &'a str,
    /// One; none in the chunk with the usage.
    choices: Vec<ChunkChoice<'a>>,
    /// In the last chunk, where it is asked for.
    usage: Option<UsageBody>,
    /// A call of the server's own tools, where the program asks to be told.
    tallybook: Option<ToolEvent<'a>>,
    /// The same, as `Open WebUI` shows it.
    event: Option<Value>,
}

#[derive(ToSchema)]
#[expect(dead_code, reason = "it is only described")]
struct ChunkChoice<'a> {
    index: u32,
    /// `role`, `content` or `tool_calls`, as in the whole answer, in pieces; empty as a sign of life.
    #[schema(value_type = Object)]
    delta: Value,
    /// `stop`, `length`, `tool_calls` or `content_filter` in the last one.
    finish_reason: Option<&'a str>,
}

/// Writer of the chunks of one answer.
pub(crate) struct Chunks {
    /// The shared beginning of all chunks.
    head: String,
    out: Vec<u8>,
    /// Text that is not yet in a chunk. Text that arrives together is sent together.
    text: String,
    has_begun: bool,
    /// Names of the running calls of Tallybook's own tools; `None` if the client did not ask for tool calls.
    calls: Option<HashMap<ToolCallId, String>>,
    /// `true` if the client asked for the token usage.
    tells_usage: bool,
}

impl Chunks {
    /// Creates the writer for an answer with this id. `model` is the name of the model as the client wrote it.
    pub(crate) fn new(id: &str, created: i64, model: &str, wish: StreamWish) -> Self {
        let head = format!(
            r#"data: {{"id":{},"object":"chat.completion.chunk","created":{created},"model":{},"#,
            json!(id),
            json!(model)
        );
        let calls = wish.tools.then(HashMap::new);
        let (out, text) = (Vec::new(), String::new());
        Self { head, out, text, has_begun: false, calls, tells_usage: wish.usage }
    }

    fn done(&mut self) {
        self.out.extend_from_slice(b"data: [DONE]\n\n");
    }

    fn chunk(&mut self, rest: &str) {
        self.out.extend_from_slice(self.head.as_bytes());
        self.out.extend_from_slice(rest.as_bytes());
        self.out.extend_from_slice(b"}\n\n");
    }

    fn call_delta(&mut self, call: &Value) {
        self.chunk(&format!(r#""choices":[{{"index":0,"delta":{{"tool_calls":[{call}]}},"finish_reason":null}}]"#));
    }

    fn flush(&mut self) {
        if self.text.is_empty() {
            return;
        }
        self.begin();
        self.out.extend_from_slice(self.head.as_bytes());
        self.out.extend_from_slice(br#""choices":[{"index":0,"delta":{"content":"#);
        // A string always serializes, and writing to memory cannot fail.
        let _ = serde_json::to_writer(&mut self.out, &self.text);
        self.out.extend_from_slice(br#"},"finish_reason":null}]}"#);
        self.out.extend_from_slice(b"\n\n");
        self.text.clear();
    }

    /// Reports a call of Tallybook's own tools: in `tallybook` for clients that know the field, and in `event` for
    /// `Open WebUI`, which shows a status.
    fn tool(&mut self, call: &ToolEvent<'_>, description: &str, done: bool) {
        self.flush();
        self.begin();
        let event = json!({"type": "status", "data": {"description": description, "done": done}});
        // The input is valid JSON and the other fields are strings, so this cannot fail.
        let call = serde_json::to_string(call).unwrap_or_else(|_| "null".to_owned());
        self.chunk(&format!(r#"{EMPTY_DELTA},"tallybook":{call},"event":{event}"#));
    }
}

impl Sink for Chunks {
    fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Uses the field that DeepSeek introduced and that vLLM and others adopted. Clients that do not know the field ignore it.
    fn reasoning(&mut self, text: &str) {
        self.flush();
        self.begin();
        self.chunk(&format!(
            r#""choices":[{{"index":0,"delta":{{"reasoning_content":{}}},"finish_reason":null}}]"#,
            json!(text)
        ));
    }

    fn tool_started(&mut self, call: &ToolCallStart) {
        let Some(calls) = &mut self.calls else { return };
        calls.insert(call.tool_call_id, call.tool_name.clone());
        let event = ToolEvent {
            kind: "tool_call",
            id: call.tool_call_id,
            name: &call.tool_name,
            status: ToolCallStatus::Pending,
            input: Some(shortened_json(&call.input)),
            output: None,
            error: None,
        };
        self.tool(&event, &format!("{} …", call.tool_name), false);
    }

    fn tool_ended(&mut self, call: &ToolCallEnd) {
        let Some(calls) = &mut self.calls else { return };
        let name = calls.remove(&call.tool_call_id).unwrap_or_default();
        let event = ToolEvent {
            kind: "tool_call",
            id: call.tool_call_id,
            name: &name,
            status: call.status,
            input: None,
            output: call.output.as_deref().map(shortened),
            error: call.error.as_deref().map(shortened),
        };
        let mark = if call.status == ToolCallStatus::Success { "✓" } else { "✗" };
        self.tool(&event, &format!("{name} {mark}"), true);
    }

    fn client_calls(&mut self, calls: Vec<ClientCall>) {
        self.flush();
        self.begin();
        for (index, ClientCall { id, name, arguments }) in calls.into_iter().enumerate() {
            // As OpenAI does it: first the id and the name of the call, then its arguments.
            let function = json!({"name": name, "arguments": ""});
            self.call_delta(&json!({"index": index, "id": id, "type": "function", "function": function}));
            self.call_delta(&json!({"index": index, "function": {"arguments": arguments}}));
        }
    }

    fn is_ready(&self) -> bool {
        !self.out.is_empty() || !self.text.is_empty()
    }
}

impl Writer for Chunks {
    fn begin(&mut self) {
        if !self.has_begun {
            self.has_begun = true;
            self.chunk(r#""choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]"#);
        }
    }

    fn sign_of_life(&mut self) -> Bytes {
        format!("{}{EMPTY_DELTA}}}\n\n", self.head).into()
    }

    fn end(&mut self, finish: &str, usage: Usage) {
        self.flush();
        self.begin();
        self.chunk(&format!(r#""choices":[{{"index":0,"delta":{{}},"finish_reason":"{finish}"}}]"#));
        if self.tells_usage {
            self.chunk(&format!(r#""choices":[],"usage":{}"#, json!(UsageBody::of(usage))));
        }
        self.done();
    }

    /// Clients recognize an error by the absence of `choices`.
    fn fail(&mut self, refusal: &Refusal) {
        self.flush();
        self.out.extend_from_slice(format!("data: {}\n\n", json!(refusal.body())).as_bytes());
        self.done();
    }

    fn take(&mut self) -> Bytes {
        self.flush();
        std::mem::take(&mut self.out).into()
    }
}

/// A call of ours, as programs are told of it.
#[derive(Serialize, ToSchema)]
struct ToolEvent<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    id: ToolCallId,
    name: &'a str,
    status: ToolCallStatus,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<RawJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TOOL_EVENT_BYTES)]
}

/// Returns the JSON; if it is too long, its beginning as a JSON string.
fn shortened_json(json: &RawJson) -> RawJson {
    let text = json.as_str();
    if text.len() <= MAX_TOOL_EVENT_BYTES { json.clone() } else { RawJson::string(shortened(text)) }
}
