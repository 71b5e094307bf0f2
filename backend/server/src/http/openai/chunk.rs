//! Writes a chat completion: as a stream of chunks (<https://platform.openai.com/docs/api-reference/chat-streaming>),
//! or as one response body (<https://platform.openai.com/docs/api-reference/chat/object>). The stream contains only
//! `data:` lines, because clients fail on other lines.

use std::collections::HashMap;

use bytes::Bytes;
use serde::Serialize;
use serde_json::{Value, json};
use tallybook_conversations::ClientCall;
use tallybook_protocol::{RawJson, ToolCallEnd, ToolCallId, ToolCallStart, ToolCallStatus, Usage, first_bytes};
use utoipa::ToSchema;

use crate::http::openai::{
    error::Refusal,
    follow::{Sink, Writer, append_data},
    parse::StreamOptions,
};

/// Maximum length of the input, output or error in a [`ToolEvent`], in bytes.
const MAX_TOOL_EVENT_BYTES: usize = 4 * 1024;

/// The last line of every stream.
const DONE: &[u8] = b"data: [DONE]\n\n";

/// A chunk of a streamed chat completion.
#[derive(Serialize, ToSchema)]
#[schema(as = CompletionChunk)]
pub(crate) struct Chunk<'a> {
    id: &'a str,
    /// `chat.completion.chunk`
    object: &'a str,
    created: i64,
    model: &'a str,
    /// One choice. Empty in the chunk with the usage.
    choices: Vec<ChunkChoice<'a>>,
    /// Token usage of the answer, in the last chunk. Absent unless `stream_options.include_usage` is true.
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageBody>,
    /// A call of one of Tallybook's own tools. Absent unless the header `X-Tallybook-Tools` is `events`.
    #[serde(skip_serializing_if = "Option::is_none")]
    tallybook: Option<ToolEvent<'a>>,
    /// The call in `tallybook`, as a status that `Open WebUI` shows.
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<Value>,
}

#[derive(Serialize, ToSchema)]
struct ChunkChoice<'a> {
    index: u32,
    /// The new part of the answer's message: `role`, `content`, `reasoning_content` or `tool_calls`. Empty in a
    /// keep-alive and in the last choice.
    #[schema(value_type = Object)]
    delta: Delta<'a>,
    /// `stop`, `length`, `tool_calls` or `content_filter` in the last choice. Null in all others.
    finish_reason: Option<&'a str>,
}

/// The new part of a message.
#[derive(Default, Serialize)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
    /// The field that DeepSeek introduced and that vLLM and others adopted. Clients that do not know the field ignore
    /// it.
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_calls: Option<[CallDelta<'a>; 1]>,
}

/// The new part of a call to a client tool. As in OpenAI's API, the first delta has the ID and the name, and the second
/// has the arguments.
#[derive(Serialize)]
struct CallDelta<'a> {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'a str>,
    function: FunctionDelta<'a>,
}

#[derive(Serialize)]
struct FunctionDelta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    arguments: &'a str,
}

/// A call of one of Tallybook's own tools, at its start or at its end.
#[derive(Serialize, ToSchema)]
struct ToolEvent<'a> {
    /// `tool_call`
    #[serde(rename = "type")]
    kind: &'static str,
    id: ToolCallId,
    name: &'a str,
    /// `pending` at the start.
    status: ToolCallStatus,
    /// Arguments of the call, at its start. A string with the first 4 KiB if the arguments are longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<RawJson>,
    /// The first 4 KiB of the output, at the end of a successful call.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<&'a str>,
    /// The first 4 KiB of the error, at the end of a failed call.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl ToolEvent<'_> {
    /// Returns the call as a status that `Open WebUI` shows.
    fn as_status(&self) -> Value {
        let mark = match self.status {
            ToolCallStatus::Pending => "…",
            ToolCallStatus::Success => "✓",
            _ => "✗",
        };
        let is_done = self.status != ToolCallStatus::Pending;
        json!({"type": "status", "data": {"description": format!("{} {mark}", self.name), "done": is_done}})
    }
}

/// Returns the beginning of a text that is too long for a [`ToolEvent`].
fn truncated(text: &str) -> &str {
    first_bytes(text, MAX_TOOL_EVENT_BYTES)
}

/// Returns the JSON; if it is too long for a [`ToolEvent`], its beginning as a JSON string.
fn truncated_json(json: &RawJson) -> RawJson {
    let text = json.as_str();
    if text.len() <= MAX_TOOL_EVENT_BYTES { json.clone() } else { RawJson::string(truncated(text)) }
}

/// Writer of the chunks of one answer.
pub(crate) struct Chunks {
    id: String,
    created: i64,
    /// Name of the model as the client wrote it.
    model: String,
    out: Vec<u8>,
    /// Text that is not yet in a chunk. Text that arrives together is sent together.
    text: String,
    has_begun: bool,
    /// Names of the running calls of Tallybook's own tools; `None` if the client did not ask for tool calls.
    calls: Option<HashMap<ToolCallId, String>>,
    /// `true` if the client asked for the token usage.
    reports_usage: bool,
}

impl Chunks {
    /// Creates the writer for an answer with this id. `model` is the name of the model as the client wrote it.
    pub(crate) fn new(id: String, created: i64, model: String, options: StreamOptions) -> Self {
        let calls = options.tools.then(HashMap::new);
        let (out, text) = (Vec::new(), String::new());
        Self { id, created, model, out, text, has_begun: false, calls, reports_usage: options.usage }
    }

    /// Writes a chunk with this delta.
    fn write(&mut self, delta: Delta<'_>) {
        let Self { id, created, model, out, .. } = self;
        append_data(out, &Chunk::of_delta(id, *created, model, delta));
    }

    fn flush(&mut self) {
        if self.text.is_empty() {
            return;
        }
        self.begin();
        let Self { id, created, model, out, text, .. } = self;
        let delta = Delta { content: Some(text), ..Delta::default() };
        append_data(out, &Chunk::of_delta(id, *created, model, delta));
        text.clear();
    }

    /// Reports a call of one of Tallybook's own tools: in `tallybook` for clients that know the field, and in `event`
    /// for `Open WebUI`.
    fn write_tool_event(&mut self, call: ToolEvent<'_>) {
        self.flush();
        self.begin();
        let Self { id, created, model, out, .. } = self;
        let event = Some(call.as_status());
        let chunk = Chunk::of_delta(id, *created, model, Delta::default());
        append_data(out, &Chunk { tallybook: Some(call), event, ..chunk });
    }
}

impl<'a> Chunk<'a> {
    /// Returns a chunk with this delta and without a finish reason.
    fn of_delta(id: &'a str, created: i64, model: &'a str, delta: Delta<'a>) -> Self {
        Self {
            id,
            object: "chat.completion.chunk",
            created,
            model,
            choices: vec![ChunkChoice { index: 0, delta, finish_reason: None }],
            usage: None,
            tallybook: None,
            event: None,
        }
    }
}

impl Sink for Chunks {
    fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn reasoning(&mut self, text: &str) {
        self.flush();
        self.begin();
        self.write(Delta { reasoning_content: Some(text), ..Delta::default() });
    }

    fn tool_started(&mut self, call: &ToolCallStart) {
        let Some(calls) = &mut self.calls else { return };
        calls.insert(call.tool_call_id, call.tool_name.clone());
        self.write_tool_event(ToolEvent {
            kind: "tool_call",
            id: call.tool_call_id,
            name: &call.tool_name,
            status: ToolCallStatus::Pending,
            input: Some(truncated_json(&call.input)),
            output: None,
            error: None,
        });
    }

    fn tool_ended(&mut self, call: &ToolCallEnd) {
        let Some(calls) = &mut self.calls else { return };
        let name = calls.remove(&call.tool_call_id).unwrap_or_default();
        self.write_tool_event(ToolEvent {
            kind: "tool_call",
            id: call.tool_call_id,
            name: &name,
            status: call.status,
            input: None,
            output: call.output.as_deref().map(truncated),
            error: call.error.as_deref().map(truncated),
        });
    }

    fn client_calls(&mut self, calls: Vec<ClientCall>) {
        self.flush();
        self.begin();
        for (index, ClientCall { id, name, arguments }) in calls.iter().enumerate() {
            let function = FunctionDelta { name: Some(name), arguments: "" };
            let (id, kind) = (Some(id.as_str()), Some("function"));
            let start = CallDelta { index, id, kind, function };
            let rest = CallDelta { index, id: None, kind: None, function: FunctionDelta { name: None, arguments } };
            for call in [start, rest] {
                self.write(Delta { tool_calls: Some([call]), ..Delta::default() });
            }
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
            self.write(Delta { role: Some("assistant"), content: Some(""), ..Delta::default() });
        }
    }

    fn keep_alive(&mut self) -> Bytes {
        let mut out = Vec::new();
        append_data(&mut out, &Chunk::of_delta(&self.id, self.created, &self.model, Delta::default()));
        out.into()
    }

    fn end(&mut self, finish: &str, usage: Usage) {
        self.flush();
        self.begin();
        let Self { id, created, model, out, reports_usage, .. } = self;
        let chunk = |choices| Chunk { choices, ..Chunk::of_delta(id, *created, model, Delta::default()) };
        append_data(out, &chunk(vec![ChunkChoice { index: 0, delta: Delta::default(), finish_reason: Some(finish) }]));
        if *reports_usage {
            append_data(out, &Chunk { usage: Some(UsageBody::of(usage)), ..chunk(Vec::new()) });
        }
        out.extend_from_slice(DONE);
    }

    /// Writes the error without `choices`, by which clients recognize it as an error.
    fn fail(&mut self, refusal: &Refusal) {
        self.flush();
        append_data(&mut self.out, &refusal.body());
        self.out.extend_from_slice(DONE);
    }

    fn take(&mut self) -> Bytes {
        self.flush();
        std::mem::take(&mut self.out).into()
    }
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

/// A chat completion as one response body.
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
    /// Null if the message has tool calls and no text.
    content: Option<&'a str>,
    #[schema(value_type = Option<String>)]
    refusal: (),
    /// The model's reasoning. Absent if there is none.
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
        let reasoning_content = Some(reasoning.as_str()).filter(|text| !text.is_empty());
        let message = Message { role: "assistant", content, refusal: (), reasoning_content, tool_calls };
        let choices = [Choice { index: 0, message, logprobs: (), finish_reason }];
        Self { id, object: "chat.completion", created, model, choices, usage: UsageBody::of(usage) }
    }
}

/// Token usage, with the field names of chat completions.
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
