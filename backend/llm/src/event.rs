//! What streams back from a model.

use std::time::Duration;

use tallybook_protocol::{Usage, without_nul};

use super::{limits::MAX_STOP_REASON_CHARS, request::ToolCallRequest};

/// What streams back from a model.
#[derive(Clone, Debug, PartialEq)]
pub enum ModelEvent {
    /// The provider is being asked for the nth time (from 2), since the attempt before failed. Blocks given so far are
    /// void, though thinking was shown; text and calls there are none, for after those nothing is asked again.
    Attempt(u32),
    /// The provider could not be asked and will be asked again, unless this stream is dropped meanwhile. An
    /// [`Attempt`](Self::Attempt) follows after the wait.
    RetryIn(RetryWait),
    /// A call is being written, told now and then as it grows, with no more of its name than a tool's may have; what becomes
    /// of it is told when it is complete.
    CallGrew {
        /// The tool's name, as the model wrote it.
        name: String,
        /// Bytes of its arguments so far.
        bytes: usize,
    },
    /// More text of the answer. Never empty.
    TextDelta(String),
    /// More of what the model shows of its thinking, for people to read; it is no part of the answer and of no request.
    /// Never empty.
    ReasoningDelta(String),
    /// All text and all calls of this answer so far were reasoning, which is given here as a whole: some models only write
    /// where their reasoning ends. Blocks of [`Opaque`](Self::Opaque) stay valid. Given at most once in an answer.
    TextWasReasoning(String),
    /// A complete tool call. Calls that the stream left unfinished (end of tokens, end of file) are never given.
    ToolCall(ToolCallRequest),
    /// A block to be replayed verbatim; see [`AssistantBlock::Opaque`](super::AssistantBlock::Opaque).
    Opaque(String),
    /// The answer is finished. Nothing follows.
    Ended {
        /// Why the model stopped.
        stop_reason: StopReason,
        /// Tokens of this request.
        usage: Usage,
    },
}

impl ModelEvent {
    /// The same without NUL characters, which what a model writes is not kept with.
    pub(super) fn without_nul(self) -> Self {
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
            | Self::CallGrew { .. }
            | Self::Opaque(_)
            | Self::Ended { .. }) => event,
        }
    }
}

/// A wait before a provider is asked again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryWait {
    /// The stable name of what went wrong, as [`ModelError::code`](super::ModelError::code) gives it.
    pub code: &'static str,
    /// The attempt that comes next, from 2.
    pub attempt: u32,
    /// How many attempts there are in all.
    pub attempts: u32,
    /// How long it is until then.
    pub delay: Duration,
}

/// Why a model stopped writing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// It had no more to say.
    EndTurn,
    /// It waits for tool results.
    ToolUse,
    /// It reached the limit of tokens.
    MaxTokens,
    /// It declined to answer.
    Refusal,
    /// The provider paused a long turn; asking again with the same history continues it.
    Pause,
    /// Something else, in the provider's word. The answer counts as cut off.
    Other(String),
}

impl StopReason {
    /// Returns `true` if the answer was cut off, so that its last call may be incomplete.
    pub fn is_cut_off(&self) -> bool {
        matches!(self, Self::MaxTokens | Self::Other(_))
    }

    /// Reads the word of any provider: servers and gateways send each other's words, spelled in their own way. `None`
    /// for a word that gives no reason.
    pub(super) fn of_word(word: &str) -> Option<Self> {
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
            // It is stored as a word, so it is cut to the length of one.
            _ => Self::Other(word.trim().chars().take(MAX_STOP_REASON_CHARS).collect()),
        })
    }

    /// The word stored in `model_calls` and sent in `message_end`.
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
