//! What is said around a text, which is in the reader's language.

/// What is said by the elements around the text, in the reader's language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    /// On the button that copies code.
    pub copy: String,
    /// On it when it has.
    pub copied: String,
    /// On the button that breaks long lines of code.
    pub wrap: String,
    /// On the button that saves code as a file.
    pub download: String,
    /// On the button that copies a table.
    pub copy_csv: String,
    /// Of a reference to a footnote.
    pub footnote: String,
    /// Of the way from a footnote back to its reference.
    pub footnote_back: String,
    /// Of a table.
    pub table: String,
    /// Of a task that is done.
    pub task_done: String,
    /// Of one that is not.
    pub task_open: String,
    /// In the place of the rest of a text that is too large to be drawn.
    pub left_out: String,
}
