//! Tests of file processing with real child processes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests report failures by panics; clippy allows that in test functions, but not in their helper functions"
)]

mod children;
mod confinement;
mod documents;
mod hostile;
mod images;
mod support;
mod texts;
