//! The response object (<https://platform.openai.com/docs/api-reference/responses/object>), complete or in progress.

use serde::{Serialize, Serializer};
use serde_json::json;
use tallybook_conversations::ClientCall;
use tallybook_llm::ToolChoice;
use tallybook_protocol::Usage;
use utoipa::ToSchema;

use crate::http::openai::{error::Refusal, responses::request::Repeated};

/// The properties of a response that do not change while it is written.
pub(crate) struct Head {
    /// Id of the answer, without the prefixes.
    pub(crate) id: String,
    pub(crate) created: i64,
    pub(crate) repeated: Repeated,
}

/// Progress of an answer, or its end.
#[derive(Clone, Copy)]
pub(crate) enum State<'a> {
    InProgress,
    /// `finish` is the finish reason in the terms of chat completions.
    Ended {
        finish: &'a str,
        usage: Usage,
    },
    Failed {
        message: &'a str,
        code: &'a str,
    },
}

impl<'a> State<'a> {
    pub(crate) fn failed(refusal: &'a Refusal) -> Self {
        Self::Failed { message: &refusal.message, code: refusal.code.as_deref().unwrap_or("server_error") }
    }

    pub(crate) fn status(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Failed { .. } => "failed",
            Self::Ended { .. } => {
                if self.incomplete_reason().is_some() {
                    "incomplete"
                } else {
                    "completed"
                }
            }
        }
    }

    /// Returns the reason if the answer was truncated.
    fn incomplete_reason(self) -> Option<&'static str> {
        match self {
            Self::Ended { finish: "length", .. } => Some("max_output_tokens"),
            Self::Ended { finish: "content_filter", .. } => Some("content_filter"),
            _ => None,
        }
    }

    /// Returns the status of the items.
    pub(crate) fn item_status(self) -> &'static str {
        if self.status() == "failed" { "incomplete" } else { self.status() }
    }
}

impl Head {
    pub(crate) fn message_id(&self) -> String {
        format!("msg_{}", self.id)
    }

    fn response_id(&self) -> String {
        format!("{}{}", super::request::ID_PREFIX, self.id)
    }

    /// Returns the items of the answer so far: a message, unless there are only calls, and the calls with which the
    /// answer ends.
    pub(crate) fn items<'a>(
        &'a self,
        text: &'a str,
        calls: &'a [ClientCall],
        status: &'static str,
    ) -> Vec<OutputItem<'a>> {
        let has_message = !text.is_empty() || calls.is_empty();
        let message = has_message.then(|| OutputItem::message(self.message_id(), Some(text), status));
        message.into_iter().chain(calls.iter().map(|call| self.call(call, &call.arguments, "completed"))).collect()
    }

    /// Returns a call that the client has to run, with these arguments.
    pub(crate) fn call<'a>(&'a self, call: &'a ClientCall, arguments: &'a str, status: &'static str) -> OutputItem<'a> {
        let (namespace, name) = self.repeated.name_of(call);
        OutputItem::FunctionCall {
            id: format!("fc_{}", call.id),
            status,
            call_id: &call.id,
            namespace,
            name,
            arguments,
        }
    }

    pub(crate) fn body<'a>(&'a self, state: State<'a>, output: Vec<OutputItem<'a>>) -> ResponseBody<'a> {
        let Repeated { model, previous_response_id, store, max_output_tokens, temperature, tool_choice, .. } =
            &self.repeated;
        ResponseBody {
            id: self.response_id(),
            object: "response",
            created_at: self.created,
            status: state.status(),
            background: false,
            error: match state {
                State::Failed { message, code } => Some(ErrorBody { code, message }),
                _ => None,
            },
            incomplete_details: state.incomplete_reason().map(|reason| IncompleteDetails { reason }),
            instructions: (),
            max_output_tokens: *max_output_tokens,
            model,
            output,
            parallel_tool_calls: true,
            previous_response_id: previous_response_id.as_deref(),
            store: *store,
            temperature: *temperature,
            text: TextBody { format: FormatBody { kind: "text" } },
            tool_choice: Choice(tool_choice),
            tools: [],
            top_p: (),
            truncation: "disabled",
            usage: match state {
                State::Ended { usage, .. } => Some(UsageBody::of(usage)),
                _ => None,
            },
            metadata: Nothing {},
        }
    }
}

/// The body.
#[derive(Serialize, ToSchema)]
#[schema(as = Response)]
pub(crate) struct ResponseBody<'a> {
    id: String,
    object: &'static str,
    created_at: i64,
    status: &'static str,
    background: bool,
    error: Option<ErrorBody<'a>>,
    incomplete_details: Option<IncompleteDetails>,
    #[schema(value_type = Option<String>)]
    instructions: (),
    max_output_tokens: Option<u32>,
    model: &'a str,
    output: Vec<OutputItem<'a>>,
    parallel_tool_calls: bool,
    previous_response_id: Option<&'a str>,
    store: bool,
    temperature: Option<f64>,
    text: TextBody,
    #[schema(value_type = Value)]
    tool_choice: Choice<'a>,
    #[schema(value_type = Vec<Object>)]
    tools: [(); 0],
    #[schema(value_type = Option<f64>)]
    top_p: (),
    truncation: &'static str,
    usage: Option<UsageBody>,
    metadata: Nothing,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ResponseError)]
struct ErrorBody<'a> {
    code: &'a str,
    message: &'a str,
}

#[derive(Serialize, ToSchema)]
struct IncompleteDetails {
    reason: &'static str,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ResponseText)]
struct TextBody {
    format: FormatBody,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ResponseTextFormat)]
struct FormatBody {
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize, ToSchema)]
#[schema(as = ResponseMetadata)]
struct Nothing {}

/// The tool choice of the request, in the form in which OpenAI writes it.
struct Choice<'a>(&'a ToolChoice);

impl Serialize for Choice<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            ToolChoice::Auto => serializer.serialize_str("auto"),
            ToolChoice::None => serializer.serialize_str("none"),
            ToolChoice::Required => serializer.serialize_str("required"),
            ToolChoice::Named(name) => json!({"type": "function", "name": name}).serialize(serializer),
        }
    }
}

/// A piece of an answer.
#[derive(Serialize, ToSchema)]
#[schema(as = ResponseOutputItem)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum OutputItem<'a> {
    Message {
        id: String,
        status: &'static str,
        role: &'static str,
        content: Vec<OutputText<'a>>,
    },
    FunctionCall {
        id: String,
        status: &'static str,
        call_id: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        namespace: Option<&'a str>,
        name: &'a str,
        arguments: &'a str,
    },
}

impl<'a> OutputItem<'a> {
    /// Returns a message with this text, or without content if `text` is `None`.
    pub(crate) fn message(id: String, text: Option<&'a str>, status: &'static str) -> Self {
        Self::Message { id, status, role: "assistant", content: text.map(OutputText::new).into_iter().collect() }
    }
}

#[derive(Serialize, ToSchema)]
#[schema(as = ResponseOutputText)]
pub(crate) struct OutputText<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
    #[schema(value_type = Vec<Object>)]
    annotations: [(); 0],
    #[schema(value_type = Vec<Object>)]
    logprobs: [(); 0],
}

impl<'a> OutputText<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { kind: "output_text", text, annotations: [], logprobs: [] }
    }
}

/// Tokens, in this API's words.
#[derive(Serialize, ToSchema)]
#[schema(as = ResponseUsage)]
struct UsageBody {
    input_tokens: i64,
    input_tokens_details: InputDetails,
    output_tokens: i64,
    output_tokens_details: OutputDetails,
    total_tokens: i64,
}

#[derive(Serialize, ToSchema)]
struct InputDetails {
    cached_tokens: i64,
    cache_write_tokens: i64,
}

#[derive(Serialize, ToSchema)]
struct OutputDetails {
    reasoning_tokens: i64,
}

impl UsageBody {
    fn of(usage: Usage) -> Self {
        let Usage { input_tokens, output_tokens, cached_tokens, .. } = usage;
        Self {
            input_tokens,
            // Cache writes and reasoning tokens are not counted separately.
            input_tokens_details: InputDetails { cached_tokens, cache_write_tokens: 0 },
            output_tokens,
            output_tokens_details: OutputDetails { reasoning_tokens: 0 },
            total_tokens: input_tokens.saturating_add(output_tokens),
        }
    }
}
