//! Events of a model's answer stream, and stop reasons.

use std::time::Duration;

use tallybook_protocol::{Usage, first_chars, without_nul};

use super::{limits::MAX_STOP_REASON_CHARS, request::ToolCallRequest};

/// An event of a model's answer stream.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// Attempt number n (from 2) starts, because the previous attempt failed. Discard the blocks received so far,
    /// although their reasoning may already be displayed. No text or complete tool call precedes this event, because a
    /// request that fails after those is not retried.
    Attempt(u32),
    /// The attempt failed. An [`Attempt`](Self::Attempt) follows after a wait, unless this stream is dropped first.
    RetryIn(RetryWait),
    /// A tool call is being written. Sent from time to time while it grows. The name is truncated to the maximum length
    /// of a tool name. [`ToolCall`](Self::ToolCall) follows if the call is completed.
    ToolCallProgress {
        /// Name of the tool, as the model wrote it.
        name: String,
        /// Size of its arguments so far, in bytes.
        bytes: usize,
    },
    /// More text of the answer. Never empty.
    TextDelta(String),
    /// More of the reasoning that the model shows, for display to users. It is not part of the answer and is not sent
    /// back to the model; the [`Opaque`](Self::Opaque) blocks are sent back instead. Never empty.
    ReasoningDelta(String),
    /// All text and all tool calls of this answer so far were reasoning; this is its complete text. Some models mark
    /// only the end of their reasoning. Blocks of [`Opaque`](Self::Opaque) stay valid. Sent at most once per answer.
    TextWasReasoning(String),
    /// A complete tool call. Calls that the stream left unfinished (token limit, end of file) are never sent.
    ToolCall(ToolCallRequest),
    /// A block to send back verbatim; see [`AssistantBlock::Opaque`](super::AssistantBlock::Opaque).
    Opaque(String),
    /// The answer is finished. Nothing follows.
    Ended {
        /// The reason why the model stopped.
        stop_reason: StopReason,
        /// Token usage of this request.
        usage: Usage,
    },
}

impl ModelEvent {
    /// Replaces NUL characters with U+FFFD; see [`without_nul`].
    pub(crate) fn without_nul(self) -> Self {
        match self {
            Self::TextDelta(text) => Self::TextDelta(without_nul(text)),
            Self::ReasoningDelta(text) => Self::ReasoningDelta(without_nul(text)),
            Self::TextWasReasoning(text) => Self::TextWasReasoning(without_nul(text)),
            Self::ToolCall(call) => Self::ToolCall(ToolCallRequest {
                name: without_nul(call.name),
                input_text: without_nul(call.input_text),
                ..call
            }),
            event @ (Self::Attempt(_)
            | Self::RetryIn(_)
            | Self::ToolCallProgress { .. }
            | Self::Opaque(_)
            | Self::Ended { .. }) => event,
        }
    }
}

/// A wait before a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryWait {
    /// The stable error code of the failed attempt, as returned by [`ModelError::code`](super::ModelError::code).
    pub code: &'static str,
    /// Number of the next attempt, from 2.
    pub attempt: u32,
    /// Maximum number of attempts.
    pub attempts: u32,
    /// Time until the next attempt.
    pub delay: Duration,
}

/// The reason why a model stopped writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The answer is complete.
    EndTurn,
    /// The model waits for tool results.
    ToolUse,
    /// The answer reached the token limit.
    MaxTokens,
    /// The model declined to answer.
    Refusal,
    /// The provider paused a long turn. A request with the same history, extended by this answer, continues it.
    Pause,
    /// Another reason, in the provider's word. The answer counts as truncated.
    Other(String),
}

impl StopReason {
    /// Returns `true` if the answer was truncated, so that its last tool call may be incomplete.
    pub fn is_cut_off(&self) -> bool {
        matches!(self, Self::MaxTokens | Self::Other(_))
    }

    /// Parses a stop reason of any provider. Servers and gateways forward each other's words, in different spellings.
    /// Returns `None` for a word that gives no reason.
    pub(crate) fn of_word(word: &str) -> Option<Self> {
        // Servers write `tool_calls`, `tool-calls` and `toolCalls`.
        let letters = word.chars().take(MAX_STOP_REASON_CHARS).filter(char::is_ascii_alphanumeric);
        let plain = letters.map(|c| c.to_ascii_lowercase()).collect::<String>();
        Some(match plain.strip_prefix("finishreason").unwrap_or(&plain) {
            "" if word.trim().is_empty() || !plain.is_empty() => return None,
            "null" | "none" | "undefined" | "unspecified" => return None,
            "stop" | "endturn" | "eos" | "eostoken" | "stopsequence" | "stoptoken" | "complete" | "completed"
            | "end" | "done" | "finished" => Self::EndTurn,
            "tooluse" | "tooluses" | "toolcalls" | "toolcall" | "functioncall" | "functioncalls" => Self::ToolUse,
            "length"
            | "maxlength"
            | "modellength"
            | "maxtokens"
            | "maxoutputtokens"
            | "maxcompletiontokens"
            | "modelcontextwindowexceeded" => Self::MaxTokens,
            "refusal"
            | "contentfilter"
            | "contentfiltered"
            | "guardrailintervened"
            | "safety"
            | "sensitive"
            | "recitation"
            | "blocklist"
            | "prohibitedcontent"
            | "spii"
            | "errortoxic" => Self::Refusal,
            "pauseturn" => Self::Pause,
            // The database column has this size.
            _ => Self::Other(first_chars(word.trim(), MAX_STOP_REASON_CHARS).to_owned()),
        })
    }

    /// Returns the word that is stored in `model_calls` and sent in `message_end`.
    pub fn as_str(&self) -> &str {
        match self {
            Self::EndTurn => "end_turn",
            Self::ToolUse => "tool_use",
            Self::MaxTokens => "max_tokens",
            Self::Refusal => "refusal",
            Self::Pause => "pause_turn",
            Self::Other(word) => word,
        }
    }
}
