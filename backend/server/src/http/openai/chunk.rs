//! Writes a chat completion: as a stream of chunks (<https://platform.openai.com/docs/api-reference/chat-streaming>), or as
//! one response body (<https://platform.openai.com/docs/api-reference/chat/object>). The stream consists of `data:` lines
//! alone, because clients fail on any others. The part that all chunks of an answer share is serialized once.

use std::collections::HashMap;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use tallybook_conversations::ClientCall;
use tallybook_protocol::{RawJson, ToolCallEnd, ToolCallId, ToolCallStart, ToolCallStatus, Usage};
use utoipa::ToSchema;

use crate::http::openai::{
    error::Refusal,
    parse::StreamOptions,
    request::MAX_TOOL_EVENT_BYTES,
    sink::{Sink, Writer},
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
    pub(crate) fn new(id: &str, created: i64, model: &str, wish: StreamOptions) -> Self {
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

    fn keep_alive(&mut self) -> Bytes {
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

/// Receiver of an answer that is sent as one response.
#[derive(Default)]
pub(crate) struct WholeAnswer {
    pub(crate) text: String,
    /// The model's reasoning.
    pub(crate) reasoning: String,
    /// Calls of client tools.
    pub(crate) calls: Vec<ClientCall>,
}

impl Sink for WholeAnswer {
    fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn text_taken_back(&mut self, bytes: usize) {
        self.text.truncate(self.text.len().saturating_sub(bytes));
    }

    fn reasoning(&mut self, text: &str) {
        self.reasoning.push_str(text);
    }

    fn client_calls(&mut self, calls: Vec<ClientCall>) {
        self.calls = calls;
    }

    fn is_ready(&self) -> bool {
        false
    }
}

/// The body.
#[derive(Serialize, ToSchema)]
pub(crate) struct Completion<'a> {
    id: &'a str,
    object: &'static str,
    created: i64,
    model: &'a str,
    choices: [Choice<'a>; 1],
    usage: UsageBody,
}

#[derive(Serialize, ToSchema)]
#[schema(as = CompletionChoice)]
struct Choice<'a> {
    index: u32,
    message: Message<'a>,
    #[schema(value_type = Option<Object>)]
    logprobs: (),
    finish_reason: &'static str,
}

#[derive(Serialize, ToSchema)]
#[schema(as = CompletionMessage)]
struct Message<'a> {
    role: &'static str,
    /// Nothing where there are calls and no words.
    content: Option<&'a str>,
    #[schema(value_type = Option<String>)]
    refusal: (),
    /// As in a stream (`chunk`).
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<CallBody<'a>>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = CompletionToolCall)]
struct CallBody<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: FunctionBody<'a>,
}

#[derive(Serialize, ToSchema)]
#[schema(as = CompletionFunction)]
struct FunctionBody<'a> {
    name: &'a str,
    arguments: &'a str,
}

impl<'a> CallBody<'a> {
    fn of(call: &'a ClientCall) -> Self {
        let ClientCall { id, name, arguments } = call;
        Self { id, kind: "function", function: FunctionBody { name, arguments } }
    }
}

impl<'a> Completion<'a> {
    pub(crate) fn new(
        id: &'a str,
        created: i64,
        model: &'a str,
        answer: &'a WholeAnswer,
        finish_reason: &'static str,
        usage: Usage,
    ) -> Self {
        let WholeAnswer { text, reasoning, calls } = answer;
        let content = Some(text.as_str()).filter(|text| !text.is_empty() || calls.is_empty());
        let tool_calls = calls.iter().map(CallBody::of).collect();
        let reasoning_content = Some(reasoning.as_str()).filter(|words| !words.is_empty());
        let message = Message { role: "assistant", content, refusal: (), reasoning_content, tool_calls };
        let choices = [Choice { index: 0, message, logprobs: (), finish_reason }];
        Self { id, object: "chat.completion", created, model, choices, usage: UsageBody::of(usage) }
    }
}

/// Tokens, in OpenAI's words.
#[derive(Serialize, ToSchema)]
#[schema(as = TokenUsage)]
pub(crate) struct UsageBody {
    prompt_tokens: i64,
    completion_tokens: i64,
    total_tokens: i64,
    prompt_tokens_details: PromptDetails,
}

#[derive(Serialize, ToSchema)]
struct PromptDetails {
    cached_tokens: i64,
}

impl UsageBody {
    pub(crate) fn of(usage: Usage) -> Self {
        let Usage { input_tokens, output_tokens, cached_tokens, .. } = usage;
        Self {
            prompt_tokens: input_tokens,
            completion_tokens: output_tokens,
            total_tokens: input_tokens.saturating_add(output_tokens),
            prompt_tokens_details: PromptDetails { cached_tokens },
        }
    }
}
