//! An answer as one response body (<https://platform.openai.com/docs/api-reference/chat/object>).

use serde::Serialize;
use tallybook_conversations::ClientCall;
use tallybook_protocol::Usage;
use utoipa::ToSchema;

use super::sink::Sink;

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
