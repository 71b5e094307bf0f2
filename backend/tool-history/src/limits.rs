//! Limits of the tool history: sizes, counts, and times.

use std::time::Duration;

use chrono::TimeDelta;

/// Maximum length of a filter, in characters.
pub(crate) const MAX_FILTER_CHARS: usize = 1000;
/// Maximum number of words in a search.
pub(crate) const MAX_WORDS: usize = 8;
/// Maximum length of a search word, in characters.
pub(crate) const MAX_WORD_CHARS: usize = 200;

/// Number of calls on a page of the list.
pub(crate) const CALLS_ON_PAGE: usize = 50;
/// Number of messages on a page of a conversation.
pub(crate) const MESSAGES_ON_PAGE: usize = 50;
/// Maximum number of calls of the same turn that the page of a call lists.
pub(crate) const MAX_CALLS_OF_TURN: u32 = 500;
/// Maximum number of files that a page lists.
pub(crate) const MAX_FILES_SHOWN: u32 = 1000;
/// Maximum length of each text of a message or call on a page, in characters. The page says if a text is truncated.
pub(crate) const MAX_SHOWN_CHARS: u32 = 1024 * 1024;
/// Maximum size of the input of a re-run, in bytes.
pub const MAX_RERUN_INPUT_BYTES: usize = 64 * 1024;
/// Maximum number of concurrent re-runs; further ones are refused.
pub(crate) const MAX_RERUNS: usize = 4;
/// Maximum number of listed re-runs of one call, the newest first.
pub(crate) const MAX_LISTED_RERUNS: u32 = 20;
/// Grace period after the timeouts of a re-run. A re-run without a result by then counts as lost.
pub(crate) const RERUN_LEEWAY: TimeDelta = TimeDelta::seconds(15);

/// Number of records on a page of the access log.
pub(crate) const RECORDS_PER_PAGE: usize = 50;
/// Maximum number of unacknowledged account changes in one response.
pub(crate) const MAX_CHANGES_LISTED: u32 = 10;

/// Time limit of the scan for one page. When it is reached, the page shows the calls found so far. A batch that has
/// started is completed, so the page can take up to a second.
pub const TIME_FOR_PAGE: Duration = Duration::from_millis(700);
/// Number of calls in the first batch of a scan, which is also the minimum; and (`MAX_RANGE`) the maximum.
pub(crate) const FIRST_RANGE: u32 = 500;
pub(crate) const MAX_RANGE: u32 = 32_000;
/// If a batch takes less than `SHORT_TIME`, the next batch is larger. If it takes more than `LONG_TIME`, the next is
/// smaller.
pub(crate) const SHORT_TIME: Duration = Duration::from_millis(100);
pub(crate) const LONG_TIME: Duration = Duration::from_millis(400);
/// Maximum number of matching calls for which a part of a filter counts as selective. The server then reads all calls
/// that match this part, instead of scanning another index.
pub(crate) const FEW: u32 = 5_000;
/// Maximum number of calls that the database sorts for one page. If more calls match, the server scans an index in
/// batches.
pub(crate) const MAX_SORTED: u32 = 50_000;
/// Number of calls scanned in order of duration after which the server checks whether sorting is possible instead.
pub(crate) const MAX_SCANNED_BEFORE_SORT: u32 = 50_000;
/// Maximum number of batches of new calls whose index columns are filled in before a page is read.
pub(crate) const MAX_COMPLETED_FIRST: usize = 4;

/// Maximum number of list pages that are read concurrently; one user can have at most half of them. Further requests
/// wait up to `LIST_TIMEOUT`, and are then refused.
pub(crate) const MAX_LISTS: usize = 4;
pub(crate) const LIST_TIMEOUT: Duration = Duration::from_secs(5);

/// Maximum number of calls in a chunk of an export, and maximum size of their texts, in bytes. A single larger call is
/// exported alone.
pub(crate) const CALLS_IN_PORTION: usize = 200;
pub(crate) const MAX_PORTION_BYTES: i64 = 2 * 1024 * 1024;

/// Maximum age of the hours that are counted and shown in statistics, in hours: 31 days.
pub(crate) const COUNTED_HOURS: i64 = 31 * 24;
/// Maximum number of hours that are counted before the maintenance task pauses for other work.
pub(crate) const HOURS_COUNTED_AT_ONCE: usize = 20;
/// Maximum number of unfinished calls that the server looks up. Hours in which one of them started are counted later.
pub(crate) const MAX_OPEN_CALLS: u32 = 10_000;
/// Maximum number of uncounted hours that are counted on request for one page.
pub(crate) const MAX_HOURS_ON_REQUEST: usize = 12;
/// Maximum number of ratings that are counted for one page; the newest count.
pub(crate) const MAX_RATINGS_COUNTED: u32 = 100_000;

/// Time for which a reason is valid.
pub(crate) const REASON_LIFETIME: TimeDelta = TimeDelta::hours(1);
/// Maximum length of a reason, in characters.
pub(crate) const MAX_REASON_CHARS: usize = 500;

/// Number of events after which a playback reads no further batch. The last batch may exceed it.
pub(crate) const MAX_PLAYED_EVENTS: usize = 5_000;
