//! Spans of what an agent does, named by OpenTelemetry's conventions for generative AI. They tell what was asked and how
//! long it took, and nothing that anybody wrote. Where nobody takes them down they cost nothing.

use tallybook_protocol::{ModelInfo, Usage};
use tracing::{Span, field};

/// By what a subscriber knows these spans.
pub const SPAN_TARGET: &str = "gen_ai";

/// Characters of a tool's name, which may be one that a model made up.
const MAX_NAME_CHARS: usize = 64;

/// A run of the agent, in the turn of this message.
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

/// One call of a model.
pub(super) fn chat(model: &ModelInfo) -> Span {
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

/// One call of a tool, under the id that the tables have for it.
pub(super) fn execute_tool(tool: &str, id: impl std::fmt::Display) -> Span {
    let tool: String = tool.chars().take(MAX_NAME_CHARS).collect();
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

/// Adds what it took.
pub fn record_usage(span: &Span, usage: Usage) {
    span.record("gen_ai.usage.input_tokens", usage.input_tokens);
    span.record("gen_ai.usage.output_tokens", usage.output_tokens);
}

/// Adds the kind of its failure.
pub fn record_failure(span: &Span, kind: &str) {
    span.record("otel.status_code", "ERROR");
    span.record("error.type", kind);
}
