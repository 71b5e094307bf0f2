//! Which Markdown is understood.

use pulldown_cmark::Options;

/// The Markdown that is understood: CommonMark with tables, struck-out text, task lists and footnotes. Subscripts (`~a~`) are
/// read so that a single `~` strikes nothing out, since it mostly means "about"; they are drawn as they are written.
pub(crate) const OPTIONS: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_SUBSCRIPT)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_FOOTNOTES);
