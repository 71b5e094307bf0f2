//! Tests with tool servers as real processes and over real HTTP, provided by `mock-mcp`. Each fault has a test that is
//! named after it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "tests report failures by panics; clippy allows that in test functions, but not in their helper functions"
)]

mod changes;
mod eras;
mod faults;
mod processes;
mod python_sdk;
mod support;
mod tokens;
