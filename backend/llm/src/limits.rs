//! How much of what a provider sends is read and kept. Every limit of this crate stands here; what a person may set is in
//! `settings`. While fuzzing the limits on sizes are small, so that they are reached.

use std::time::Duration;

/// The longest answer, text and arguments together, in bytes as JSON writes them: an answer is stored as JSON, where a
/// control character takes six bytes, and must fit into one packet of the database (16 MiB). What all steps of a turn may
/// write together, the server bounds (`MAX_ANSWER_JSON_BYTES`).
pub(crate) const MAX_ANSWER_BYTES: usize = if cfg!(fuzzing) { 2048 } else { 8 * 1024 * 1024 };
/// The most tool calls that one answer may hold, and the most blocks.
pub const MAX_BLOCKS: usize = if cfg!(fuzzing) { 8 } else { 1000 };
/// The most text that is held back because it may turn out to be a call, as much as a tool's arguments may have.
pub(crate) const MAX_HELD_BYTES: usize = if cfg!(fuzzing) { 256 } else { 1024 * 1024 };
/// The deepest indentation, and the longest line with a fence, that may begin a call in text.
pub(crate) const MAX_OPENING_BYTES: usize = 64;
/// The deepest nesting of calls in lists and objects that is looked into, in text.
pub(crate) const MAX_CALL_DEPTH: u8 = 4;
/// The longest stop reason that is kept; it is stored as a word.
pub(crate) const MAX_STOP_REASON_CHARS: usize = 64;

/// The longest tool name that every provider takes.
pub(crate) const MAX_TOOL_NAME_CHARS: usize = 64;
/// The length of a call id that every provider takes: Mistral takes no other.
pub(crate) const CALL_ID_CHARS: usize = 9;
/// The longest name of an argument that every provider takes (Anthropic).
pub(crate) const MAX_PROPERTY_NAME_CHARS: usize = 64;
/// Deeper arguments are not replayed as they are: providers' own parsers give up at some depth.
pub(crate) const MAX_REPLAYED_DEPTH: usize = 64;
/// How much of unreadable arguments the model is shown again.
pub(crate) const MAX_UNREADABLE_BYTES: usize = 2000;

/// Grace period for the end mark and the usage, once a provider has said why its answer ended: some servers send neither,
/// and keep the connection open.
pub(crate) const END_MARK_TIMEOUT: Duration = Duration::from_secs(3);

/// How much of an error's body is read, and how long that may take.
pub(crate) const MAX_ERROR_BODY_BYTES: usize = 64 * 1024;
pub(crate) const ERROR_BODY_TIMEOUT: Duration = Duration::from_secs(5);
/// The most characters of one sentence of a provider's reason that are read, the most sentences, the deepest nesting of
/// them, and the most characters of a code.
pub(crate) const MAX_REASON_CHARS: usize = 4000;
pub(crate) const MAX_REASONS: usize = 8;
pub(crate) const MAX_REASON_DEPTH: usize = 10;
pub(crate) const MAX_REASON_CODE_CHARS: usize = 64;
/// The shortest key that is taken out of texts: a shorter one is a part of ordinary words.
pub(crate) const MIN_SCRUBBED_KEY_BYTES: usize = 8;
/// How much of a provider's message people are shown.
pub(crate) const MAX_DETAIL_CHARS: usize = 300;
/// The longest wait that a provider may ask for; beyond it a person should decide.
pub(crate) const MAX_RETRY_AFTER: Duration = Duration::from_mins(1);

/// The most that `LLM_MAX_TOKENS` may ask for.
pub(crate) const MAX_TOKENS: u32 = 1_000_000;
/// The least that a model may be told to think (Anthropic).
pub(crate) const MIN_THINKING_TOKENS: u32 = 1024;
/// How many tokens a model may be said to read, and how many where nothing is said: as many as most of today's do.
pub(crate) const CONTEXT_TOKENS: std::ops::RangeInclusive<u32> = 1_000..=10_000_000;
pub(crate) const DEFAULT_CONTEXT_TOKENS: u32 = 128_000;
/// How many tokens a title may take; models that think before they write need more than a title has.
pub(crate) const MAX_TITLE_TOKENS: u32 = 1024;
/// The same of a vote on a call.
pub(crate) const MAX_REVIEW_TOKENS: u32 = 2048;
