//! How much people, and models in their place, may write, and how much of it is read, sent and searched at a time. What comes
//! in from people is checked once (`input`), what models write is as it comes (`turn/storing_recorder`).

/// Bytes of an answer's text in all its steps, as JSON: its end and its snapshots are single events, which readers take up
/// to 16 MiB of (`protocol::sse::MAX_FRAME_BYTES`), and MariaDB as much in one statement. One step is bounded where it comes
/// in (`MAX_ANSWER_BYTES` of `llm`).
pub(super) const MAX_ANSWER_JSON_BYTES: usize = 8 * 1024 * 1024;

/// Bytes of text that one event carries; a longer delta becomes several.
pub(super) const MAX_DELTA_BYTES: usize = 64 * 1024;

/// Bytes of text in the fallback end that is stored where the database refused the whole one.
pub(super) const MAX_FALLBACK_END_BYTES: usize = 64 * 1024;

/// Bytes of outputs that are read of an answer that is gone on with, and bytes of each that are read in any case.
pub(super) const MAX_READ_BYTES: usize = 16 * 1024 * 1024;
pub(super) const MIN_READ_BYTES: usize = 1024;

/// Characters in a message.
pub(super) const MAX_MESSAGE_CHARS: usize = 100_000;

/// Characters in a title; the column holds as many.
pub(super) const MAX_TITLE_CHARS: usize = 200;

/// Characters that can be searched for.
pub(super) const MAX_SEARCH_CHARS: usize = 200;

/// Words that can be searched for at once.
pub(super) const MAX_SEARCH_WORDS: usize = 8;

/// What one page of a search has at most.
pub(super) const MAX_SEARCH_HITS: usize = 20;

/// Searches that run at once, half of them of one person; others wait. Each keeps a connection of the database busy.
pub(super) const MAX_SEARCHES: usize = 4;

/// Exports that run at once, half of them of one person; others wait a little, and are refused then. Each holds a few portions in memory.
pub(super) const MAX_EXPORTS: usize = 4;

/// Portions of an export that may wait for a reader that is slower than the database.
pub(super) const MAX_WAITING_EXPORT_PARTS: usize = 4;

/// Models that programs ask once at the same time, half of them for one person; further ones are refused.
pub(super) const MAX_PLAIN_CALLS: usize = 32;

/// Parts of a message in which requests count against the limit of messages per minute.
pub(super) const QUARTERS: i64 = 4;

/// Tools that programs call without a turn at the same time, half of them for one person; further ones are refused. And bytes of an output that they get.
pub(super) const MAX_DIRECT_CALLS: usize = 32;
pub(super) const MAX_DIRECT_OUTPUT_BYTES: usize = 1024 * 1024;

/// Calls of an answer that a model is told to sum it up, and characters of each of their texts.
pub(super) const MAX_SUMMED_CALLS: usize = 50;
pub(super) const MAX_SUMMED_CHARS: usize = 300;

/// Tokens that are reserved while an answer is summed up.
pub(super) const MAX_SUMMING_TOKENS: usize = 20_000;

/// Exchanges that a model is told at once to sum a conversation up, and how often it is asked after one answer.
pub(super) const MAX_SUMMED_EXCHANGES: usize = 20;
pub(super) const MAX_SUMMARIES_AT_ONCE: usize = 16;

/// Turns that went on with a program's results whose steps are read back for one request, the newest: each takes a few
/// queries.
pub(super) const MAX_RESTORED_TURNS: usize = 32;

/// Answers that a program went on from one after the other which are read for one request, the newest: each takes a query.
pub(super) const MAX_CHAIN: usize = 500;

/// Pieces of an answer of a model that is asked once that may wait for a reader that is slower than the model.
pub(super) const MAX_WAITING_PLAIN_EVENTS: usize = 64;

/// Characters of the first message that become the title.
pub(super) const MAX_TITLE_FROM_MESSAGE_CHARS: usize = 60;

/// Characters of a title that a model wrote.
pub(super) const MAX_TITLE_FROM_MODEL_CHARS: usize = 80;

/// Calls that can be decided on at once.
pub(super) const MAX_DECISIONS: usize = 1000;

/// Bytes of the reason for a decision.
pub(super) const MAX_REASON_BYTES: usize = 4 * 1024;

/// Characters in a client's id of a message; the column holds as many.
pub(super) const MAX_CLIENT_ID_CHARS: usize = 64;

/// Parts of a message.
pub(super) const MAX_MESSAGE_PARTS: usize = 100;

/// Messages of a conversation that may be asked for by their number.
pub(super) const MAX_WINDOW: u32 = 200;

/// Bytes of messages' texts in one answer, but for an exchange that alone has more. Of calls it carries what one event does.
pub(super) const MAX_WINDOW_TEXT_BYTES: i64 = 16 * 1024 * 1024;

/// Links to shared conversations that a user may have; a list of them is whole.
pub(super) const MAX_SHARES: i64 = 200;

/// Bytes of a shared conversation's messages, as JSON: one row, which every engine takes in one statement.
pub(super) const MAX_SHARED_BYTES: usize = 8 * 1024 * 1024;

/// Conversations that a user may have pinned.
pub(crate) const MAX_PINNED: u32 = 100;

/// Conversations on a page of the list.
pub(super) const MAX_LIST_PAGE: u32 = 100;

/// Tools that can be turned off in a conversation; the column holds twice as many of the longest names.
pub(super) const MAX_DISABLED_TOOLS: usize = 500;
