//! Spans of the agent's work, named by OpenTelemetry's conventions for generative AI. They record which operation ran
//! and how long it took, but no text that users, models or tools wrote. If no subscriber records them, they cost almost
//! nothing.

use tallybook_protocol::{ModelInfo, Usage, first_chars};
use tracing::{Span, field};

/// Tracing target of these spans, for subscribers to filter by.
pub const SPAN_TARGET: &str = "gen_ai";

/// Maximum length of a tool's name in a span, in characters. The model may have invented the name.
const MAX_NAME_CHARS: usize = 64;

/// Creates the span of one agent run, in the turn of this message.
pub fn invoke_agent(message_id: impl std::fmt::Display, model: &ModelInfo) -> Span {
    tracing::info_span!(
        target: SPAN_TARGET,
        "invoke_agent",
        otel.name = "invoke_agent tallybook",
        otel.status_code = field::Empty,
        "error.type" = field::Empty,
        gen_ai.operation.name = "invoke_agent",
        gen_ai.agent.name = "tallybook",
        gen_ai.provider.name = model.provider.as_str(),
        gen_ai.request.model = model.model.as_str(),
        gen_ai.usage.input_tokens = field::Empty,
        gen_ai.usage.output_tokens = field::Empty,
        tallybook.message.id = %message_id,
    )
}

/// Creates the span of one model call.
pub(crate) fn chat(model: &ModelInfo) -> Span {
    tracing::info_span!(
        target: SPAN_TARGET,
        "chat",
        otel.name = format!("chat {}", model.model),
        otel.kind = "client",
        otel.status_code = field::Empty,
        "error.type" = field::Empty,
        gen_ai.operation.name = "chat",
        gen_ai.provider.name = model.provider.as_str(),
        gen_ai.request.model = model.model.as_str(),
        gen_ai.usage.input_tokens = field::Empty,
        gen_ai.usage.output_tokens = field::Empty,
    )
}

/// Creates the span of one tool call. `id` is the call's ID in the database.
pub(crate) fn execute_tool(tool: &str, id: impl std::fmt::Display) -> Span {
    let tool: String = first_chars(tool, MAX_NAME_CHARS).to_owned();
    tracing::info_span!(
        target: SPAN_TARGET,
        "execute_tool",
        otel.name = format!("execute_tool {tool}"),
        otel.status_code = field::Empty,
        "error.type" = field::Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = tool.as_str(),
        "gen_ai.tool.type" = "function",
        gen_ai.tool.call.id = %id,
    )
}

/// Adds the token usage to a span.
pub fn record_usage(span: &Span, usage: Usage) {
    span.record("gen_ai.usage.input_tokens", usage.input_tokens);
    span.record("gen_ai.usage.output_tokens", usage.output_tokens);
}

/// Marks a span as failed, with the kind of the error.
pub fn record_failure(span: &Span, kind: &str) {
    span.record("otel.status_code", "ERROR");
    span.record("error.type", kind);
}
