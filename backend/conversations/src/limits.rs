//! Limits on what users and models may write, and on what is read, sent and searched at a time. User input is checked
//! once (`input`), model output as it arrives (`turn/recorder`).

/// Maximum size of an answer's text in all its steps, in bytes of JSON. The end event and snapshots contain all of it;
/// clients accept events up to 16 MiB (`protocol::sse::MAX_FRAME_BYTES`), and MariaDB accepts as much in one statement.
/// The text of one step is limited in `llm` (`MAX_ANSWER_BYTES`).
pub(crate) const MAX_ANSWER_JSON_BYTES: usize = 8 * 1024 * 1024;

/// Maximum size of the text in one event, in bytes; a longer delta is split into several events.
pub(crate) const MAX_DELTA_BYTES: usize = 64 * 1024;

/// Maximum size of the text in the fallback end, in bytes. It is stored if the database rejects the full end.
pub(crate) const MAX_FALLBACK_END_BYTES: usize = 64 * 1024;

/// Maximum size of all tool outputs that are read for one prompt, in bytes.
pub(crate) const MAX_READ_BYTES: usize = 16 * 1024 * 1024;
/// Minimum that is read of each of these outputs, in bytes, however many there are.
pub(crate) const MIN_READ_BYTES: usize = 1024;

/// Maximum length of a message, in characters.
pub(crate) const MAX_MESSAGE_CHARS: usize = 100_000;

/// Maximum length of a title, in characters; the column has the same limit.
pub(crate) const MAX_TITLE_CHARS: usize = 200;

/// Maximum length of a search query, in characters.
pub(crate) const MAX_SEARCH_CHARS: usize = 200;

/// Maximum number of words in a search query.
pub(crate) const MAX_SEARCH_WORDS: usize = 8;

/// Maximum number of hits on a page of search results.
pub(crate) const MAX_SEARCH_HITS: usize = 20;

/// Maximum number of concurrent searches, at most half of them for one user; others wait. Each keeps a database
/// connection busy.
pub(crate) const MAX_SEARCHES: usize = 4;

/// Maximum number of concurrent exports, at most half of them for one user; others wait a few seconds and are then
/// refused. Each holds a few portions in memory.
pub(crate) const MAX_EXPORTS: usize = 4;

/// Maximum number of portions of an export that are buffered for a client that reads more slowly than the database.
pub(crate) const MAX_WAITING_EXPORT_PARTS: usize = 4;

/// Maximum number of concurrent direct model calls, at most half of them for one user; further calls are refused.
pub(crate) const MAX_DIRECT_CALLS: usize = 32;

/// Quarters in a message. Requests count against the limit of messages per minute in quarters of a message.
pub(crate) const QUARTERS: i64 = 4;

/// Maximum number of concurrent standalone tool calls, outside turns, at most half of them for one user; further calls
/// are refused.
pub(crate) const MAX_STANDALONE_CALLS: usize = 32;
/// Maximum size of the output of a standalone tool call, in bytes.
pub(crate) const MAX_STANDALONE_OUTPUT_BYTES: usize = 1024 * 1024;

/// Maximum number of an answer's tool calls in the prompt that asks for an explanation.
pub(crate) const MAX_SUMMED_CALLS: usize = 50;
/// Maximum length of each text of these calls in that prompt, in characters.
pub(crate) const MAX_SUMMED_CHARS: usize = 300;

/// Tokens reserved while a model explains an answer.
pub(crate) const MAX_SUMMING_TOKENS: usize = 20_000;

/// Maximum number of exchanges that one model call summarizes.
pub(crate) const MAX_SUMMED_EXCHANGES: usize = 20;
/// Maximum number of model calls that summarize a conversation after one answer.
pub(crate) const MAX_SUMMARIES_AT_ONCE: usize = 16;

/// Maximum number of turns with an API client's tool results whose steps are restored for one request; the newest
/// count. Each takes a few queries.
pub(crate) const MAX_RESTORED_TURNS: usize = 32;

/// Maximum number of linked responses that are read for one request; the newest count. Each takes a query.
pub(crate) const MAX_CHAIN: usize = 500;

/// Maximum number of events of a direct model call that are buffered for a client that reads more slowly than the model
/// writes.
pub(crate) const MAX_WAITING_DIRECT_EVENTS: usize = 64;

/// Maximum length of a title that is made from the first message, in characters.
pub(crate) const MAX_TITLE_FROM_MESSAGE_CHARS: usize = 60;

/// Maximum length of a title that a model wrote, in characters.
pub(crate) const MAX_TITLE_FROM_MODEL_CHARS: usize = 80;

/// Maximum number of tool calls in one request that decides on calls.
pub(crate) const MAX_DECISIONS: usize = 1000;

/// Maximum length of the reason for a decision, in bytes.
pub(crate) const MAX_REASON_BYTES: usize = 4 * 1024;

/// Maximum length of an ID that a client chooses, in characters; the columns have the same limit.
pub(crate) const MAX_CLIENT_ID_CHARS: usize = 64;

/// Maximum number of images of one tool call.
pub(crate) const MAX_CALL_IMAGES: usize = 8;

/// Maximum number of files in a message.
pub(crate) const MAX_MESSAGE_FILES: usize = 10;

/// Maximum size of all images in one prompt, in bytes before they are encoded in base64. The newest count; notes
/// replace the others. Providers limit the size of a request.
pub(crate) const MAX_PROMPT_IMAGE_BYTES: usize = 20 * 1024 * 1024;

/// Maximum number of parts in a message.
pub(crate) const MAX_MESSAGE_PARTS: usize = 100;

/// Maximum number of messages that a client can request with `limit`.
pub(crate) const MAX_WINDOW: u32 = 200;

/// Maximum size of the messages' texts in one response, in bytes. A single larger exchange is returned alone. Tool
/// calls are truncated as in one event.
pub(crate) const MAX_WINDOW_TEXT_BYTES: i64 = 16 * 1024 * 1024;

/// Maximum number of a user's share links. The list of them is not paged.
pub(crate) const MAX_SHARES: i64 = 200;

/// Maximum size of a shared conversation's messages, in bytes of JSON. They are one row, which every engine accepts in
/// one statement.
pub(crate) const MAX_SHARED_BYTES: usize = 8 * 1024 * 1024;

/// Maximum number of messages that are copied to a new conversation, in one transaction.
pub(crate) const MAX_COPIED_MESSAGES: usize = 2000;

/// Maximum size of these messages with their calls, reasoning and plans, in bytes.
pub(crate) const MAX_COPIED_BYTES: i64 = 64 * 1024 * 1024;

/// Maximum number of conversations that a user can pin.
pub const MAX_PINNED: u32 = 100;

/// Maximum number of conversations on a page of the list.
pub(crate) const MAX_LIST_PAGE: u32 = 100;

/// Maximum number of tools that can be turned off in a conversation; the column holds twice as many of the longest
/// names.
pub(crate) const MAX_DISABLED_TOOLS: usize = 500;
