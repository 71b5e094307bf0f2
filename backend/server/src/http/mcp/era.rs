//! Eras of the Model Context Protocol, and their versions.

/// Supported protocol versions of the newer era (`NEWER`) and of the older one (`OLDER`).
pub(crate) const NEWER: [&str; 1] = ["2026-07-28"];
pub(crate) const OLDER: [&str; 3] = ["2025-11-25", "2025-06-18", "2025-03-26"];

/// The era of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// Each request stands alone, and the HTTP status of its response reports success or failure.
    Newer,
    /// Requests follow an `initialize` request. The HTTP status of an answer is 200 even if the answer is an error.
    Older,
}
