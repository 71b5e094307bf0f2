//! Labels of the elements around a text, in the user's language.

/// Labels of the elements around a text, in the user's language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// Button that copies code.
    pub copy: String,
    /// Text of a copy button after it has copied.
    pub copied: String,
    /// Button that wraps long lines of code.
    pub wrap: String,
    /// Button that downloads code as a file.
    pub download: String,
    /// Button that copies a table.
    pub copy_csv: String,
    /// Accessible name of a reference to a footnote, before the footnote's label.
    pub footnote: String,
    /// Accessible name of the link from a footnote to its reference, before the footnote's label.
    pub footnote_back: String,
    /// Accessible name of a table, before its column headers.
    pub table: String,
    /// Accessible name of the check box of a finished task.
    pub task_done: String,
    /// Accessible name of the check box of an open task.
    pub task_open: String,
    /// Notice that replaces the rest of a text that is too large.
    pub left_out: String,
}
