//! How much of the book is asked for, read and told at a time, and how long that takes.

use std::time::Duration;

use chrono::TimeDelta;

/// Characters of a filter.
pub(super) const MAX_FILTER_CHARS: usize = 1000;
/// Words that can be looked for at once.
pub(super) const MAX_WORDS: usize = 8;
/// Characters of each.
pub(super) const MAX_WORD_CHARS: usize = 200;

/// Calls on a page of the list.
pub(super) const CALLS_ON_PAGE: usize = 50;
/// Messages on a page of a conversation.
pub(super) const MESSAGES_ON_PAGE: usize = 50;
/// Calls of one turn that are shown beside one of them.
pub(super) const MAX_CALLS_OF_TURN: u32 = 500;
/// Characters of each text of a message or a call that a page shows; what is longer says so.
pub(super) const MAX_SHOWN_CHARS: u32 = 1024 * 1024;
/// Bytes of an input with which a call is run again.
pub(crate) const MAX_RERUN_INPUT_BYTES: usize = 64 * 1024;
/// Calls that are run again at once; further ones are refused.
pub(super) const MAX_RERUNS: usize = 4;
/// Re-runs of one call that are listed, the newest first.
pub(super) const MAX_LISTED_RERUNS: u32 = 20;
/// How long after its tool's time a re-run may still come to its end; one that has none by then was lost.
pub(super) const RERUN_LEEWAY: TimeDelta = TimeDelta::seconds(15);

/// Looks on a page of their list.
pub(super) const LOOKS_ON_PAGE: usize = 50;
/// Maximum of unacknowledged account changes in one answer.
pub(super) const MAX_CHANGES_LISTED: u32 = 10;

/// How long is gone through the calls for one page. It then shows what it has, within a second: a stretch that was begun is gone
/// through.
pub(crate) const TIME_FOR_PAGE: Duration = Duration::from_millis(700);
/// Calls in the first stretch, and in the longest.
pub(super) const FIRST_STRETCH: u32 = 500;
pub(super) const MAX_STRETCH: u32 = 32_000;
/// A stretch that took less is followed by a longer one, and one that took longer than the second by a shorter one.
pub(super) const SHORT_TIME: Duration = Duration::from_millis(100);
pub(super) const LONG_TIME: Duration = Duration::from_millis(400);
/// So many calls, of those that something the filter names leaves, are looked at all rather than along another index.
pub(super) const FEW: u32 = 5_000;
/// So many calls are sorted at once.
pub(super) const MAX_SORTED: u32 = 50_000;
/// So many calls are passed over along the durations before others are sorted instead.
pub(super) const MAX_PASSED: u32 = 50_000;
/// Stretches of calls of which is written down what they are found by, before a page is looked for.
pub(super) const MAX_COMPLETED_FIRST: usize = 4;

/// Pages of the list that are looked for at once, half of them for one person; others wait a little, and are refused then.
pub(super) const MAX_LISTS: usize = 4;
pub(super) const LIST_PATIENCE: Duration = Duration::from_secs(5);

/// Calls of which the sizes are looked at for one portion of an export, and bytes of texts in a portion, but for a call that
/// alone has more.
pub(super) const CALLS_IN_PORTION: usize = 200;
pub(super) const MAX_PORTION_BYTES: i64 = 2 * 1024 * 1024;

/// Hours back of which figures are kept up: a month.
pub(super) const COUNTED_HOURS: i64 = 31 * 24;
/// Hours that are counted before others have their turn.
pub(super) const HOURS_COUNTED_AT_ONCE: usize = 20;
/// Calls that have not come to their end, whose hours are left for later.
pub(super) const MAX_OPEN_CALLS: u32 = 10_000;
/// Hours that are not counted yet and are looked at for one page.
pub(super) const MAX_HOURS_LOOKED_AT: usize = 12;

/// How long the reason is good for that somebody gave.
pub(super) const REASON_LIFETIME: TimeDelta = TimeDelta::hours(1);
/// Characters of a reason.
pub(super) const MAX_REASON_CHARS: usize = 500;

/// Events of a turn that are read to be played, and those that were read with the last of them.
pub(super) const MAX_PLAYED_EVENTS: usize = 5_000;
