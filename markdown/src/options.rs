//! The supported Markdown.

use pulldown_cmark::Options;

/// Supported syntax: CommonMark with tables, strikethrough, task lists and footnotes. Subscripts (`~a~`) are parsed,
/// but shown as their source. So a single `~`, which mostly means "about", does not strike text through.
pub(crate) const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_SUBSCRIPT)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_FOOTNOTES);
