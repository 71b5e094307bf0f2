//! Limits on what the crate reads and keeps of a provider's data. All limits of this crate are in this file; limits
//! that an operator can set are in `settings`. While fuzzing, the size limits are small, so that inputs reach them.

use std::time::Duration;

/// Maximum size of one answer (text, reasoning and tool calls together), in bytes of its JSON encoding. Answers are
/// stored as JSON, where a control character takes six bytes, and must fit into one database packet (16 MiB). The
/// server limits the total of all steps of a turn (`MAX_ANSWER_JSON_BYTES`).
pub(crate) const MAX_ANSWER_BYTES: usize = if cfg!(fuzzing) { 2048 } else { 8 * 1024 * 1024 };
/// Maximum number of tool calls, and of content blocks, in one answer.
pub const MAX_BLOCKS: usize = if cfg!(fuzzing) { 8 } else { 1000 };
/// Maximum text that the parser holds back because it may turn out to be a tool call, in bytes. A tool accepts
/// arguments of the same size.
pub(crate) const MAX_HELD_BYTES: usize = if cfg!(fuzzing) { 256 } else { 1024 * 1024 };
/// Maximum length of the indentation, and of the fence line, that may begin a tool call in text, in bytes.
pub(crate) const MAX_OPENING_BYTES: usize = 64;
/// Maximum depth of lists and objects in text that are searched for tool calls.
pub(crate) const MAX_CALL_DEPTH: u8 = 4;
/// Maximum length of a stop reason, in characters: the size of its database column on MySQL. A longer one is truncated.
pub(crate) const MAX_STOP_REASON_CHARS: usize = 64;

/// Maximum length of a tool name that every provider accepts, in characters.
pub(crate) const MAX_TOOL_NAME_CHARS: usize = 64;
/// Length of a tool call id that every provider accepts, in characters. Mistral accepts no other length.
pub(crate) const CALL_ID_CHARS: usize = 9;
/// Maximum length of an argument name that every provider accepts, in characters. The limit is Anthropic's.
pub(crate) const MAX_PROPERTY_NAME_CHARS: usize = 64;
/// Maximum nesting depth of arguments that are sent back unchanged. Beyond some depth, providers' own parsers fail.
pub(crate) const MAX_REPLAYED_DEPTH: usize = 64;
/// Maximum part of unreadable arguments that is sent back to the model, in bytes.
pub(crate) const MAX_UNREADABLE_BYTES: usize = 2000;

/// Grace period for the end mark and the usage after a provider has sent a stop reason. Some servers send neither, and
/// keep the connection open.
pub(crate) const END_MARK_TIMEOUT: Duration = Duration::from_secs(3);

/// Maximum part of an error response's body that is read, in bytes, and the timeout for reading it.
pub(crate) const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;
pub(crate) const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);
/// Limits on reading a provider's reason for an error: characters per sentence, number of sentences, nesting depth, and
/// characters per error code.
pub(crate) const MAX_REASON_CHARS: usize = 4000;
pub(crate) const MAX_REASONS: usize = 8;
pub(crate) const MAX_REASON_DEPTH: usize = 10;
pub(crate) const MAX_REASON_CODE_CHARS: usize = 64;
/// Minimum length of an API key that is redacted from texts, in bytes. A shorter key would match parts of ordinary
/// words.
pub(crate) const MIN_SCRUBBED_KEY_BYTES: usize = 8;
/// Maximum part of a provider's message that users see, in characters.
pub(crate) const MAX_DETAIL_CHARS: usize = 300;
/// Maximum wait before a retry that a provider may request. If it requests more, the request fails and the user
/// decides.
pub(crate) const MAX_RETRY_AFTER: Duration = Duration::from_mins(1);

/// Maximum value of `LLM_MAX_TOKENS`.
pub(crate) const MAX_TOKENS: u32 = 1_000_000;
/// Minimum reasoning budget, in tokens (Anthropic's minimum).
pub(crate) const MIN_THINKING_TOKENS: u32 = 1024;
/// Allowed sizes of a model's context window, in tokens, and the default size: that of most current models.
pub(crate) const CONTEXT_TOKENS: std::ops::RangeInclusive<u32> = 1_000..=10_000_000;
pub(crate) const DEFAULT_CONTEXT_TOKENS: u32 = 128_000;
/// Timeout for listing a provider's models.
pub(crate) const DISCOVER_TIMEOUT: Duration = Duration::from_secs(20);
/// Limits on a provider's list of models: bytes, number of models, and characters of a model's name.
pub(crate) const MAX_MODEL_LIST_BYTES: usize = 8 * 1024 * 1024;
pub(crate) const MAX_DISCOVERED_MODELS: usize = 2000;
pub(crate) const MAX_MODEL_NAME_CHARS: usize = 200;
/// Maximum tokens of an answer to a title request. Models that reason first need more tokens than the title itself.
pub(crate) const MAX_TITLE_TOKENS: u32 = 1024;
/// Maximum tokens of a vote on a tool call.
pub(crate) const MAX_REVIEW_TOKENS: u32 = 2048;
