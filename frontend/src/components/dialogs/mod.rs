//! Dialogs over the page: shared links, usage, replay, files, and shortcuts.

pub(crate) mod file_viewer;
pub(crate) mod help;
pub(crate) mod playback_sheet;
pub(crate) mod share_sheet;
pub(crate) mod sheet_top;
pub(crate) mod usage_rows;
pub(crate) mod usage_sheet;
