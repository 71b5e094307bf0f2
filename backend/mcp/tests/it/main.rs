//! Tests with tool servers as real processes and over real HTTP, provided by `mock-mcp`. Each fault has a test that is named
//! after it.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "in tests a panic is how a failure is told; clippy knows that of test functions only, not of their kit"
)]

mod changes;
mod eras;
mod faults;
mod processes;
mod python_sdk;
mod support;
mod tokens;
