//! Which Markdown is understood.

use pulldown_cmark::Options;

/// The Markdown that is understood: CommonMark with tables, struck-out text, task lists and footnotes.
pub(crate) const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_FOOTNOTES);
