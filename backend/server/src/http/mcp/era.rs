//! The eras of the protocol, and their versions.

/// The versions that are spoken, of the newer era and of the older.
pub(super) const NEWER: [&str; 1] = ["2026-07-28"];
pub(super) const OLDER: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

/// How a request is to be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Era {
    /// Every request stands for itself, and its answer's status says what became of it.
    Newer,
    /// Requests come after a greeting, and the status says that there is an answer.
    Older,
}
